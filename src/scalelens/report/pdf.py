"""Metadata of a PDF, and an order of its objects that is the same every time."""

import html
import re

REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
ENTRIES = re.compile(rb"(?:^ */\w+ \d+ 0 R\n)+", re.MULTILINE)  # entries of a dictionary that are references
XMP = """<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:CreatorTool="{tool}">
{element}
</rdf:Description>
</rdf:RDF></x:xmpmeta>
<?xpacket end="r"?>"""


def with_metadata(pdf: bytes, element: str, tool: str, producer: str) -> bytes:
    """A PDF of svg2pdf with an XMP element and who made it, its objects in the order in which they are reached.

    Where a figure needs two fonts, svg2pdf names and writes them in the order of a hash table, new at each call.
    """
    objects, root = _objects(pdf)
    reached = [root]
    for number in reached:  # grows while it is walked
        reached += [n for n in dict.fromkeys(map(int, REFERENCE.findall(objects[number][0]))) if n not in reached]
    place = {number: n for n, number in enumerate(reached, 1)}
    bodies = [
        REFERENCE.sub(lambda match: b"%d 0 R" % place[int(match[1])], head) + stream
        for head, stream in (objects[number] for number in reached)
    ]
    xmp = XMP.format(tool=html.escape(tool), element=element).encode()
    bodies[0] = bodies[0].rstrip().removesuffix(b">>") + b"  /Metadata %d 0 R\n>>\n" % (len(bodies) + 1)
    bodies.append(
        b"<<\n  /Type /Metadata\n  /Subtype /XML\n  /Length %d\n>>\nstream\n%s\nendstream\n" % (len(xmp), xmp)
    )
    bodies.append(f"<<\n  /Creator ({_escaped(tool)})\n  /Producer ({_escaped(producer)})\n>>\n".encode())
    return _file(bodies)


def _file(bodies: list[bytes]) -> bytes:
    """A PDF of numbered objects, the first its root and the last its document information."""
    content, offsets = b"%PDF-1.7\n%\x80\x80\x80\x80\n", []
    for n, body in enumerate(bodies, 1):
        offsets.append(len(content))
        content += b"%d 0 obj\n%sendobj\n" % (n, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer\n<<\n  /Size %d\n  /Root 1 0 R\n  /Info %d 0 R\n>>\n" % (len(bodies) + 1, len(bodies))
    start = b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    return b"%s%s%s%sstartxref\n%d\n%%%%EOF\n" % (content, start, table, trailer, len(content))


def _objects(pdf: bytes) -> tuple[dict[int, tuple[bytes, bytes]], int]:
    """Objects of a PDF with a plain cross-reference table, as number to (dictionary, stream), and which is the root."""
    start = int(pdf[pdf.rindex(b"startxref") + 9 :].split()[0])
    offsets = [int(entry) for entry in re.findall(rb"(\d{10}) \d{5} n", pdf[start:])]
    ends = dict(zip(sorted(offsets), [*sorted(offsets)[1:], start], strict=True))
    objects = {}
    for offset in offsets:
        number, _, body = pdf[offset : ends[offset]].partition(b" 0 obj\n")
        head, word, stream = body[: body.rindex(b"endobj")].partition(b"stream\n")
        in_order = ENTRIES.sub(lambda match: b"".join(sorted(match[0].splitlines(keepends=True))), head)
        objects[int(number)] = (in_order, word + stream)
    root = re.search(rb"/Root (\d+) 0 R", pdf[start:])
    assert root
    return objects, int(root[1])


def _escaped(text: str) -> str:
    """Text within a PDF's parentheses."""
    return re.sub(r"([()\\])", r"\\\1", text)
