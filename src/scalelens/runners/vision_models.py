"""ResNet-50, ResNet-101 and Inception-v3, with torchvision's names of parameters and their numbers."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.nn import functional
from vision_mobile import EfficientNetB0, MobileNetV2


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.relu, self.downsample = nn.ReLU(inplace=True), nn.Sequential()
        if inputs != outputs:
            self.downsample.extend([nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)])

    def forward(self, x):
        y = self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))))
        return self.relu(self.bn3(self.conv3(y)) + self.downsample(x))


class ResNet(nn.Sequential):
    """ResNet v1.5: the stride is in the 3x3 convolution."""

    def __init__(self, blocks=(3, 4, 6, 3), classes=1000):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        for k, count in enumerate(blocks):
            first = Bottleneck(128 << k if k else 64, 64 << k, 256 << k, stride=2 if k else 1)
            others = [Bottleneck(256 << k, 64 << k, 256 << k, stride=1) for _ in range(count - 1)]
            self.add_module(f"layer{k + 1}", nn.Sequential(first, *others))
        self.avgpool, self.flatten, self.fc = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, classes)
        initialise(self)
        for block in (module for module in self.modules() if isinstance(module, Bottleneck)):
            nn.init.zeros_(block.bn3.weight)  # every block begins as the identity: Goyal et al. 2017, section 5.1


class Convolution(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride=1, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(outputs, eps=0.001)

    def forward(self, x):
        return functional.relu(self.bn(self.conv(x)), inplace=True)


class Mixed(nn.Module):
    """Branches side by side, whose outputs are joined.

    A branch is a chain of (name, outputs, kernel, stride).  A list in the chain holds convolutions that read the same
    input; their outputs are joined too.  The last branch pools and then convolves to `pooled` outputs; without `pooled`
    it halves the edge.
    """

    def __init__(self, inputs, pooled, *branches):
        super().__init__()
        self.branches = branches
        for branch in branches:
            width = inputs
            for link in branch:
                for name, outputs, kernel, stride in link if isinstance(link, list) else [link]:
                    self.add_module(
                        name, Convolution(width, outputs, kernel, stride, 0 if stride == 2 else same(kernel))
                    )
                width = outputs
        self.branch_pool = Convolution(inputs, pooled, 1) if pooled else None

    def forward(self, x):
        outputs = []
        for branch in self.branches:
            y = x
            for link in branch:
                if isinstance(link, list):
                    y = torch.cat([self.get_submodule(name)(y) for name, *_ in link], 1)
                else:
                    y = self.get_submodule(link[0])(y)
            outputs.append(y)
        if self.branch_pool is None:
            return torch.cat([*outputs, functional.max_pool2d(x, 3, 2)], 1)
        return torch.cat([*outputs, self.branch_pool(functional.avg_pool2d(x, 3, 1, 1))], 1)


def same(kernel):
    """The padding that keeps the size."""
    return tuple(k // 2 for k in kernel) if isinstance(kernel, tuple) else kernel // 2


class Auxiliary(nn.Module):
    """The head that helps the lower layers to learn; only training uses it."""

    def __init__(self, inputs, classes):
        super().__init__()
        self.conv0, self.conv1 = Convolution(inputs, 128, 1), Convolution(128, 768, 5)
        self.fc = nn.Linear(768, classes)

    def forward(self, x):
        return self.fc(self.conv1(self.conv0(functional.avg_pool2d(x, 5, 3))).mean((2, 3)))


class Inception3(nn.Module):
    """Inception-v3 (Szegedy et al. 2015).  In training it returns the scores of both heads."""

    def __init__(self, classes=1000):
        super().__init__()
        self.Conv2d_1a_3x3, self.Conv2d_2a_3x3 = Convolution(3, 32, 3, 2), Convolution(32, 32, 3)
        self.Conv2d_2b_3x3, self.Conv2d_3b_1x1 = Convolution(32, 64, 3, padding=1), Convolution(64, 80, 1)
        self.Conv2d_4a_3x3 = Convolution(80, 192, 3)
        for name, inputs, pooled in (("5b", 192, 32), ("5c", 256, 64), ("5d", 288, 64)):
            mixed = Mixed(
                inputs, pooled,
                [("branch1x1", 64, 1, 1)],
                [("branch5x5_1", 48, 1, 1), ("branch5x5_2", 64, 5, 1)],
                [("branch3x3dbl_1", 64, 1, 1), ("branch3x3dbl_2", 96, 3, 1), ("branch3x3dbl_3", 96, 3, 1)],
            )  # fmt: skip
            self.add_module(f"Mixed_{name}", mixed)
        self.Mixed_6a = Mixed(
            288, None,
            [("branch3x3", 384, 3, 2)],
            [("branch3x3dbl_1", 64, 1, 1), ("branch3x3dbl_2", 96, 3, 1), ("branch3x3dbl_3", 96, 3, 2)],
        )  # fmt: skip
        for name, c in (("6b", 128), ("6c", 160), ("6d", 160), ("6e", 192)):
            mixed = Mixed(
                768, 192,
                [("branch1x1", 192, 1, 1)],
                [("branch7x7_1", c, 1, 1), ("branch7x7_2", c, (1, 7), 1), ("branch7x7_3", 192, (7, 1), 1)],
                [("branch7x7dbl_1", c, 1, 1), ("branch7x7dbl_2", c, (7, 1), 1), ("branch7x7dbl_3", c, (1, 7), 1),
                 ("branch7x7dbl_4", c, (7, 1), 1), ("branch7x7dbl_5", 192, (1, 7), 1)],
            )  # fmt: skip
            self.add_module(f"Mixed_{name}", mixed)
        self.AuxLogits = Auxiliary(768, classes)
        self.Mixed_7a = Mixed(
            768, None,
            [("branch3x3_1", 192, 1, 1), ("branch3x3_2", 320, 3, 2)],
            [("branch7x7x3_1", 192, 1, 1), ("branch7x7x3_2", 192, (1, 7), 1), ("branch7x7x3_3", 192, (7, 1), 1),
             ("branch7x7x3_4", 192, 3, 2)],
        )  # fmt: skip
        for name, inputs in (("7b", 1280), ("7c", 2048)):
            mixed = Mixed(
                inputs, 192,
                [("branch1x1", 320, 1, 1)],
                [("branch3x3_1", 384, 1, 1), [("branch3x3_2a", 384, (1, 3), 1), ("branch3x3_2b", 384, (3, 1), 1)]],
                [("branch3x3dbl_1", 448, 1, 1), ("branch3x3dbl_2", 384, 3, 1),
                 [("branch3x3dbl_3a", 384, (1, 3), 1), ("branch3x3dbl_3b", 384, (3, 1), 1)]],
            )  # fmt: skip
            self.add_module(f"Mixed_{name}", mixed)
        self.dropout, self.fc = nn.Dropout(), nn.Linear(2048, classes)
        initialise(self)

    def forward(self, x):
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(functional.max_pool2d(x, 3, 2)))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(functional.max_pool2d(x, 3, 2))))
        x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))))
        auxiliary = self.AuxLogits(x) if self.training else None
        x = self.fc(self.dropout(self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x))).mean((2, 3))))
        return (x, auxiliary) if self.training else x


def initialise(model):
    for convolution in (module for module in model.modules() if isinstance(module, nn.Conv2d)):
        nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")


DEPTHWISE = {"mobilenet_v2", "efficientnet_b0"}
MODELS = {
    "resnet50": lambda classes: ResNet((3, 4, 6, 3), classes),
    "resnet101": lambda classes: ResNet((3, 4, 23, 3), classes),
    "inception_v3": Inception3,
    "mobilenet_v2": MobileNetV2,
    "efficientnet_b0": EfficientNetB0,
}


def loss_of(scores, labels):
    """Cross entropy; the auxiliary head of Inception counts 0.4."""
    if isinstance(scores, tuple):
        return loss_of(scores[0], labels) + 0.4 * loss_of(scores[1], labels)
    return functional.cross_entropy(scores, labels)
