"""Names of kernels that fit beside a bar: template arguments are shortened first, and no two kernels look alike.

void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, at::detail::Array<char*, 3> >(int)
vectorized_elementwise_kernel<4, AddFunctor<…>, Array<…>>
"""

import re
from collections.abc import Sequence

from scalelens.charts import words

_NAMESPACE = re.compile(r"(?:[A-Za-z_]\w*::)+")
_TOKEN = re.compile(r"[A-Za-z0-9.]+")
_MANGLED = re.compile(r"_ZN?[KVrO]*(?=\d)")  # the start of a name as the linker of C++ has it
_LENGTH = re.compile(r"\d{1,4}")
_SHARE_OF_START = 0.5  # of the room, for the start that names share


def short_names(names: Sequence[str], rooms: Sequence[float]) -> list[str]:
    """Each name within its room, in points."""
    texts = [_shortened(name, room) for name, room in zip(names, rooms, strict=True)]
    for text in {text for text in texts if texts.count(text) > 1}:
        alike = [k for k, other in enumerate(texts) if other == text]
        for k, own in zip(alike, _own_tokens([names[k] for k in alike]), strict=True):
            texts[k] = _with_own(names[k], own, rooms[k])
    return _numbered(texts, rooms)


def _shortened(name: str, room: float) -> str:
    plain = _plain(name)
    start, arguments = _parted(plain)
    forms = [plain, f"{start}<{_shallow(arguments)}>", f"{start}<…>"] if arguments else [plain]
    return next((form for form in forms if words.text_width(form) <= room), words.shorten(forms[-1], room))


def _plain(name: str) -> str:
    """A name without namespaces, return type, arguments of the function and marks of the compiler."""
    text = _NAMESPACE.sub("", _unmangled(name).replace("(anonymous namespace)::", "")).removeprefix("void ")
    depth = 0
    for k, letter in enumerate(text):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "(" and depth == 0 and k and text[k - 1] != " ":  # not `Memcpy HtoD (Pinned -> Device)`
            text = text[:k]
            break
    return text.replace(" >", ">").replace(" >", ">").strip()


def _unmangled(name: str) -> str:
    """The last of the nested names in one that the linker has: `_ZN2at6native4copyIfEEvPf` is `copy<…>`."""
    start = _MANGLED.match(name)
    at, last = start.end() if start else len(name), ""
    while length := _LENGTH.match(name, at):
        at = length.end() + int(length[0])
        last = name[length.end() : at]
    return f"{last}{'<…>' if name[at : at + 1] == 'I' else ''}" if last else name


def _parted(text: str) -> tuple[str, str]:
    """The name of a template and its arguments; none where the text is not one."""
    start, bracket, rest = text.partition("<")
    return (start, rest[:-1]) if bracket and rest.endswith(">") and start else (text, "")


def _shallow(arguments: str) -> str:
    """Template arguments without the arguments within them: `4, AddFunctor<…>`."""
    kept, depth = "", 0
    for letter in arguments:
        depth -= letter == ">"
        kept += letter if depth == 0 else ""
        if letter == "<":
            kept += "…" if depth == 0 else ""
            depth += 1
    return kept


def _own_tokens(names: Sequence[str]) -> list[list[str]]:
    """What each of several names has that not all have."""
    tokens = [list(dict.fromkeys(_TOKEN.findall(name.replace("_", " ")))) for name in names]
    common = set(tokens[0]).intersection(*tokens)
    return [[token for token in of_name if token not in common] for of_name in tokens]


def _with_own(name: str, own: Sequence[str], room: float) -> str:
    """The start of a name, and what is its own."""
    start, arguments = _parted(_plain(name))
    if not own:
        return _shortened(name, room)
    begin = words.shorten(start, _SHARE_OF_START * room) if arguments else words.cut(start, _SHARE_OF_START * room)
    end = f"<{' '.join(own)}>" if arguments else f"… {' '.join(own)}"
    return begin + words.cut(end, room - words.text_width(begin))


def _numbered(texts: Sequence[str], rooms: Sequence[float]) -> list[str]:
    """The texts, with numbers where they are still alike."""
    seen: dict[str, int] = {}
    numbered = []
    for text, room in zip(texts, rooms, strict=True):
        seen[text] = seen.get(text, 0) + 1
        number = f" ({seen[text]})" if texts.count(text) > 1 else ""
        numbered.append(words.cut(text, room - words.text_width(number)) + number if number else text)
    return numbered
