"""Times without a unit in lines that many programs copied from a known one, whose source takes them in seconds.

    Epoch: [ 3] [  20/ 400] time: 102.6443, d_loss: 0.48025573, g_loss: 2.31250000      carpedm20/DCGAN-tensorflow
    Epoch: [3], step: [200], time: [102.6443], loss: [0.48025573]                        tegg89/SRCNN-Tensorflow
    Epoch: 0003 train_loss= 1.9 train_acc= 0.2 val_loss= 1.9 val_acc= 0.2 time= 0.05123  tkipf/gcn
    3/2230 (epoch 0), train_loss = 4.171, time/batch = 0.345                   sherjilozair/char-rnn-tensorflow
    [Epoch 3] Train-acc: 0.933, loss: 0.203 | Val-acc: 0.857, loss: 0.426 | time: 78.8    dmlc/gluon-cv
     | Epoch: [1][3/391]    Time 0.234  Data 0.012  Err 2.3015                 facebook/fb.resnet.torch

A line is known by the names on both sides of its time and by the digits of its numbers.  Which time it is, is not said
here.
"""

from scalelens.parsing import lazy_re as re

_TIME = r"(?P<time>\d+\.\d{%d})"
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"(?P<before>(?<![A-Za-z])time: )\[? ?{_TIME % 4}\]?(?=, (?:[dg]_)?loss: \[?-?\d+\.\d{{8}})",
        rf"(?P<before>val_acc= \d\.\d{{5}} time= ){_TIME % 5}(?=\s*\Z)",
        rf"(?P<before>train_loss = \d+\.\d{{3}}, time/batch = ){_TIME % 3}(?=\s*\Z)",
        rf"(?P<before>\| Val-acc: \d\.\d{{3}}, (?:mAP: \d\.\d{{3}}, )?loss: \d+\.\d{{3}} \| time: )"
        rf"{_TIME % 1}(?=\s*\Z| \|)",
        rf"(?P<before>\]\s+Time ){_TIME % 3}(?=  Data \d+\.\d{{3}}  Err )",
    )
)


def with_seconds(text: str) -> str:
    """A line whose time has its unit, if it is one of these."""
    for form in _FORMS if "ime" in text else ():
        if found := form.search(text):
            return f"{text[: found.start()]}{found['before']}{found['time']} s{text[found.end() :]}"
    return text
