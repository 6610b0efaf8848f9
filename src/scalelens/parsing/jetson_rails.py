"""What a power rail of a Jetson feeds, by its name."""

_MODULE = ("VDD_IN", "POM_5V_IN", "VIN")
_SCOPES = (("GPU", "gpu"), ("CPU", "cpu"), ("DDR", "memory"), ("MEM", "memory"))


def scope_of_rail(rail: str) -> str:
    """The scope of a rail; `sysio` is the rest, among it a rail of both CPU and GPU."""
    if rail in _MODULE:
        return "board"
    scopes = {scope for word, scope in _SCOPES if word in rail}
    return scopes.pop() if len(scopes) == 1 else "sysio"
