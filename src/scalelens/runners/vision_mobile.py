"""MobileNet-v2 and EfficientNet-B0, with torchvision's names of parameters and their numbers."""
# mypy: ignore-errors

import torch
from torch import nn

# Expansion, kernel, stride, outputs, blocks of each stage
MOBILENET = [
    (1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 3, 2, 32, 3), (6, 3, 2, 64, 4), (6, 3, 1, 96, 3), (6, 3, 2, 160, 3),
    (6, 3, 1, 320, 1),
]  # Sandler et al. 2018, table 2  # fmt: skip
EFFICIENTNET = [
    (1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
]  # Tan and Le 2019, table 1  # fmt: skip


def convolution(inputs, outputs, kernel, stride=1, groups=1, activation=None):
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), *([activation(inplace=True)] if activation else []))


class SqueezeExcitation(nn.Module):
    def __init__(self, width, squeezed):
        super().__init__()
        self.avgpool, self.fc1, self.fc2 = (
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(width, squeezed, 1),
            nn.Conv2d(squeezed, width, 1),
        )

    def forward(self, x):
        return x * torch.sigmoid(self.fc2(nn.functional.silu(self.fc1(self.avgpool(x)))))


class InvertedResidual(nn.Module):
    """A narrow input, a wide depthwise convolution, a narrow output, and the input added where the shapes allow it.

    `drop` is the share of images of a batch for which training leaves the block out.
    """

    def __init__(self, inputs, outputs, expansion, kernel, stride, activation, drop=None):
        super().__init__()
        width, self.drop, self.is_added = expansion * inputs, drop or 0.0, stride == 1 and inputs == outputs
        layers = [convolution(inputs, width, 1, activation=activation)] if expansion > 1 else []
        layers.append(convolution(width, width, kernel, stride, width, activation))
        if drop is None:  # MobileNet names its last convolution and norm one by one
            self.conv = nn.Sequential(*layers, *convolution(width, outputs, 1))
        else:
            squeeze = SqueezeExcitation(width, max(1, inputs // 4))
            self.block = nn.Sequential(*layers, squeeze, convolution(width, outputs, 1))

    def forward(self, x):
        y = (self.conv if hasattr(self, "conv") else self.block)(x)
        if not self.is_added:
            return y
        if self.training and self.drop:
            kept = torch.empty(len(y), 1, 1, 1, dtype=y.dtype, device=y.device).bernoulli_(1 - self.drop)
            y = y * kept / (1 - self.drop)
        return x + y


class MobileNetV2(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        layers, inputs = [convolution(3, 32, 3, 2, activation=nn.ReLU6)], 32
        for expansion, kernel, stride, outputs, blocks in MOBILENET:
            for k in range(blocks):
                layers.append(InvertedResidual(inputs, outputs, expansion, kernel, 1 if k else stride, nn.ReLU6))
                inputs = outputs
        self.features = nn.Sequential(*layers, convolution(inputs, 1280, 1, activation=nn.ReLU6))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, classes))
        initialise(self)

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class EfficientNetB0(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        stages, inputs, number = [convolution(3, 32, 3, 2, activation=nn.SiLU)], 32, 0
        total = sum(blocks for *_, blocks in EFFICIENTNET)
        for expansion, kernel, stride, outputs, blocks in EFFICIENTNET:
            stage = []
            for k in range(blocks):
                drop = 0.2 * number / total
                stage.append(InvertedResidual(inputs, outputs, expansion, kernel, 1 if k else stride, nn.SiLU, drop))
                inputs, number = outputs, number + 1
            stages.append(nn.Sequential(*stage))
        self.features = nn.Sequential(*stages, convolution(inputs, 1280, 1, activation=nn.SiLU))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, classes))
        initialise(self)

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


def initialise(model):
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out")
        elif isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, 0, 0.01)
