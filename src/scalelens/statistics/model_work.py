"""Operations of image models, counted from their layers: convolutions and matrix products, 2 for each multiply-add.

A model is known by a name that says its whole architecture.  Norms, activations, pooling and biases are left out: they
are below 1 % and run on other units than those of which the peak is.  Forward and backward pass are 3 times the forward
pass: the backward pass computes gradients of inputs and of weights, each as much as the forward pass.
"""

import re
from typing import NamedTuple

_TRAINING = 3  # forward and backward pass over the forward pass
_RGB, CLASSES = 3, 1000

BASIC, BOTTLENECK = 2, 3  # convolutions of a block of a ResNet
_RESNETS = {
    "18": (BASIC, (2, 2, 2, 2)),
    "34": (BASIC, (3, 4, 6, 3)),
    "50": (BOTTLENECK, (3, 4, 6, 3)),
    "101": (BOTTLENECK, (3, 4, 23, 3)),
    "152": (BOTTLENECK, (3, 8, 36, 3)),
}  # He et al., arXiv 1512.03385, table 1
_RESNET = re.compile(r"resnet[-_ ]?(18|34|50|101|152)(?:[-_ ]?v?1[._]5)?$")  # plain `v1` and `v2` are other networks

_VITS = {
    "t": (12, 192), "tiny": (12, 192), "s": (12, 384), "small": (12, 384), "b": (12, 768), "base": (12, 768),
    "l": (24, 1024), "large": (24, 1024), "h": (32, 1280), "huge": (32, 1280),
}  # layers, width: Dosovitskiy et al., arXiv 2010.11929, table 1; the two smallest by arXiv 2012.12877  # fmt: skip
_VIT = re.compile(
    rf"(?:vit|deit)[-_ ]?({'|'.join(sorted(_VITS, key=len, reverse=True))})[-_/ ]?(?:patch)?(\d+)(?:[-_](\d+))?$"
)

# Expansion, kernel, stride, outputs, blocks of each stage
_MOBILE = {
    "mobilenet": (
        (1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 3, 2, 32, 3), (6, 3, 2, 64, 4), (6, 3, 1, 96, 3), (6, 3, 2, 160, 3),
        (6, 3, 1, 320, 1),
    ),  # v2 of width 1: Sandler et al., arXiv 1801.04381, table 2
    "efficientnet": (
        (1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
        (6, 3, 1, 320, 1),
    ),  # B0: Tan and Le, arXiv 1905.11946, table 1
}  # fmt: skip
_MOBILE_NAME = re.compile(r"(mobilenet|efficientnet)[-_ ]?(?:v2|b0)(?:[-_]1[._]0)?$")
_SMALLEST_INCEPTION = 299
_INCEPTION = re.compile(r"inception[-_ ]?v?3$")

_UNET_LEVELS = 4  # Ronneberger et al., arXiv 1505.04597, figure 1


_SET = "set {} = ... under [labels] in scalelens.toml"


class ImageWork(NamedTuple):
    """Operations of one image, forward and backward."""

    flops: float | None
    is_known: bool  # whether the name of the model says its layers
    reason: str | None  # why the operations are not known


def image_model_work(model: str, image_size: str | None, channels: int | None = None) -> ImageWork:
    """Operations for an image of a training, by the name of the model.

    `image_size` is the text of a log: `224`, `224x224`, `3,224,224`.  `channels` are those of a U-Net's first level.
    """
    name = model.strip().lower()
    vit = _VIT.match(name)
    mobile = _MOBILE_NAME.match(name)
    mobile = mobile if mobile and ("v2" in name) == (mobile[1] == "mobilenet") else None
    if not (vit or mobile or name == "unet" or _RESNET.match(name) or _INCEPTION.match(name)):
        return ImageWork(None, False, "the name of the model does not say its layers")
    edges = [int(number) for number in re.findall(r"\d+", image_size or (vit and vit[3]) or "")][-2:]
    if not edges:
        return ImageWork(None, True, f"the size of the images is not known: {_SET.format('image_size')}")
    height, width = edges[0], edges[-1]
    if resnet := _RESNET.match(name):
        return ImageWork(_TRAINING * _resnet_forward(resnet[1], height, width), True, None)
    if mobile:
        return ImageWork(_TRAINING * _mobile_forward(mobile[1], height, width), True, None)
    if _INCEPTION.match(name):
        if min(height, width) < _SMALLEST_INCEPTION:
            reason = f"Inception-v3 trains on images of {_SMALLEST_INCEPTION} pixels and more"
            return ImageWork(None, True, reason)
        return ImageWork(_TRAINING * _inception_forward(height, width), True, None)
    if vit:
        patch = int(vit[2])
        if height % patch or width % patch:
            return ImageWork(None, True, f"images of {height} x {width} are not whole patches of {patch}")
        return ImageWork(_TRAINING * _vit_forward(vit[1], patch, height, width), True, None)
    if not channels:
        reason = f"the channels of the U-Net's first level are not known: {_SET.format('unet_channels')}"
        return ImageWork(None, True, reason)
    if height % 2**_UNET_LEVELS or width % 2**_UNET_LEVELS:
        return ImageWork(None, True, f"images of {height} x {width} cannot be halved {_UNET_LEVELS} times")
    return ImageWork(_TRAINING * _unet_forward(channels, height, width), True, None)


def _convolution(inputs: int, outputs: int, kernel: int, height: int, width: int) -> float:
    """Operations of a convolution with an output of height x width."""
    return 2.0 * inputs * outputs * kernel**2 * height * width


def _halved(edge: int) -> int:
    """Edge after a stride of 2 with the padding that keeps every pixel."""
    return (edge + 1) // 2


def _resnet_forward(depth: str, height: int, width: int) -> float:
    """Forward pass of a ResNet v1.5: the stride is in the 3x3 convolution of a block."""
    kind, blocks = _RESNETS[depth]
    height, width = _halved(height), _halved(width)
    flops = _convolution(_RGB, 64, 7, height, width)
    height, width = _halved(height), _halved(width)  # pooling
    inputs = 64
    for level, count in enumerate(blocks):
        middle = 64 << level
        outputs = middle * (4 if kind == BOTTLENECK else 1)
        for block in range(count):
            before = height, width
            if level and not block:
                height, width = _halved(height), _halved(width)
            if kind == BOTTLENECK:
                flops += _convolution(inputs, middle, 1, *before) + _convolution(middle, middle, 3, height, width)
                flops += _convolution(middle, outputs, 1, height, width)
            else:
                flops += _convolution(inputs, middle, 3, height, width) + _convolution(middle, middle, 3, height, width)
            if inputs != outputs:
                flops += _convolution(inputs, outputs, 1, height, width)
            inputs = outputs
    return flops + 2.0 * inputs * CLASSES


def _mobile_forward(kind: str, height: int, width: int) -> float:
    """Forward pass of MobileNet-v2 or EfficientNet-B0: inverted residuals, the latter with squeeze and excitation."""
    height, width, inputs = _halved(height), _halved(width), 32
    flops = _convolution(_RGB, inputs, 3, height, width)
    for expansion, kernel, stride, outputs, blocks in _MOBILE[kind]:
        for block in range(blocks):
            wide = expansion * inputs
            flops += _convolution(inputs, wide, 1, height, width) if expansion > 1 else 0.0
            if stride == 2 and not block:
                height, width = _halved(height), _halved(width)
            flops += _convolution(1, wide, kernel, height, width)  # depthwise: each channel by itself
            if kind == "efficientnet":
                flops += 2 * _convolution(wide, max(1, inputs // 4), 1, 1, 1)
            flops += _convolution(wide, outputs, 1, height, width)
            inputs = outputs
    return flops + _convolution(inputs, 1280, 1, height, width) + 2.0 * 1280 * CLASSES


def _inception_forward(height: int, width: int) -> float:
    """Forward pass of Inception-v3 in training, with its auxiliary head: Szegedy et al., arXiv 1512.00567, table 1.

    Names of the blocks are torchvision's.
    """

    def cut(edge: int, taps: int = 3, stride: int = 2) -> int:
        return (edge - taps) // stride + 1

    def pixels() -> int:
        return height * width

    def chain(inputs: int, *links: tuple[int, int]) -> float:
        """Convolutions one after the other: outputs, and taps of a kernel."""
        flops = 0.0
        for outputs, taps in links:
            flops += 2.0 * inputs * outputs * taps * pixels()
            inputs = outputs
        return flops

    height, width = cut(height), cut(width)
    flops = chain(_RGB, (32, 9))
    height, width = height - 2, width - 2
    flops += chain(32, (32, 9), (64, 9))
    height, width = cut(height), cut(width)
    flops += chain(64, (80, 1))
    height, width = height - 2, width - 2
    flops += chain(80, (192, 9))
    height, width = cut(height), cut(width)
    for inputs, pooled in ((192, 32), (256, 64), (288, 64)):  # 5b to 5d
        flops += chain(inputs, (64, 1)) + chain(inputs, (48, 1), (64, 25)) + chain(inputs, (pooled, 1))
        flops += chain(inputs, (64, 1), (96, 9), (96, 9))
    flops += chain(288, (64, 1), (96, 9))  # 6a
    height, width = cut(height), cut(width)
    flops += chain(288, (384, 9)) + chain(96, (96, 9))
    for middle in (128, 160, 160, 192):  # 6b to 6e
        flops += 2 * chain(768, (192, 1)) + chain(768, (middle, 1), (middle, 7), (192, 7))
        flops += chain(768, (middle, 1), *[(middle, 7)] * 3, (192, 7))
    flops += _auxiliary_forward(cut(height, 5, 3), cut(width, 5, 3))
    flops += chain(768, (192, 1)) + chain(768, (192, 1), (192, 7), (192, 7))  # 7a
    height, width = cut(height), cut(width)
    flops += chain(192, (320, 9)) + chain(192, (192, 9))
    for inputs in (1280, 2048):  # 7b and 7c
        flops += chain(inputs, (320, 1)) + chain(inputs, (192, 1)) + chain(inputs, (384, 1)) + chain(inputs, (448, 1))
        flops += chain(448, (384, 9)) + 2 * chain(384, (768, 3))
    return flops + 2.0 * 2048 * CLASSES


def _auxiliary_forward(height: int, width: int) -> float:
    head = _convolution(768, 128, 1, height, width) + _convolution(128, 768, 5, height - 4, width - 4)
    return head + 2.0 * 768 * CLASSES


def _vit_forward(size: str, patch: int, height: int, width: int) -> float:
    """Forward pass of a Vision Transformer with a class token and an MLP four times as wide as the model."""
    layers, hidden = _VITS[size]
    patches = (height // patch) * (width // patch)
    tokens = patches + 1
    products = 2.0 * tokens * 12 * hidden**2  # queries, keys, values, output 4 h^2, MLP 8 h^2
    attention = 2.0 * 2 * tokens**2 * hidden  # scores, and the sum of values
    return layers * (products + attention) + _convolution(_RGB, hidden, patch, 1, patches) + 2.0 * hidden * CLASSES


def _unet_forward(channels: int, height: int, width: int) -> float:
    """Forward pass of a U-Net of two 3x3 convolutions a level, padded, and 2x2 transposed convolutions upwards.

    The last 1x1 convolution, to the classes, is counted for 2 classes.
    """
    flops, inputs = 0.0, _RGB
    for level in range(_UNET_LEVELS + 1):
        outputs, size = channels << level, (height >> level, width >> level)
        flops += _convolution(inputs, outputs, 3, *size) + _convolution(outputs, outputs, 3, *size)
        inputs = outputs
    for level in reversed(range(_UNET_LEVELS)):
        outputs, size = channels << level, (height >> level, width >> level)
        flops += _convolution(2 * outputs, outputs, 1, *size)  # each pixel of a transposed 2x2 has one source
        flops += _convolution(2 * outputs, outputs, 3, *size) + _convolution(outputs, outputs, 3, *size)
    return flops + _convolution(channels, 2, 1, height, width)
