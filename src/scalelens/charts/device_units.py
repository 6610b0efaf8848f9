"""Devices in one unit: a GCD is half of a module, and is never drawn beside a GPU unasked."""

from collections.abc import Sequence

from scalelens.charts.style import Row
from scalelens.errors import UserError

_GCDS = 2  # of a module of AMD's Instinct MI250 and MI250X
ADDED = "A GPU is a module: the throughputs of its two GCDs are added."
_PER_DEVICE = ("device_samples_per_s", "device_tokens_per_s", "batch_per_device")


def in_unit(points: Sequence[Row], unit: str, per_device: Sequence[str] = _PER_DEVICE) -> bool:
    """Counts GCDs in GPUs, where `unit` says so; returns whether there were any.

    What is `per_device` doubles: rates and batches.  Raises UserError for GCDs beside GPUs without a unit, and for a
    run on an odd number of GCDs.
    """
    gcds = [point for point in points if point.get("device_unit") == "gcd"]
    if not unit:
        if gcds and any(point.get("device_unit") == "gpu" for point in points):
            raise UserError(
                "some runs count GCDs and others GPUs, and a GCD is half of a GPU",
                "write --unit gpu, which adds the two GCDs of a module, or choose runs: \"runs=device_unit = 'gpu'\"",
            )
        return False
    for point in gcds:
        if (point["devices"] or 0) % _GCDS:
            raise UserError(
                f"{point.get('name') or point['run_id']} has {point['devices']} GCDs, which are no whole GPUs",
                "leave it out with runs=..., or draw GCDs without --unit",
            )
        point["devices"] = point["devices"] and point["devices"] // _GCDS
        point["device_unit"] = "gpu"
        point["device_model"] = (point.get("device_model") or "").removesuffix(" gcd") or None
        for name in per_device:
            point[name] = point[name] * _GCDS if point.get(name) is not None else None
    return bool(gcds)
