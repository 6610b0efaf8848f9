"""Images: four synthetic batches, a folder of images (needs Pillow), or an LMDB of them (needs Pillow and lmdb).

A folder holds train/CLASS/*.jpg and, for a validation part, val/CLASS/*.jpg.  A shared file system copes badly with a
million small files.  This puts them into LMDBs:

    python vision_data.py FOLDER LMDB         writes LMDB/train and LMDB/val

A key is a number, 0, 1, ..., as text.  Its value is the number of the class in four bytes (little-endian), then the
unchanged file.
"""
# mypy: ignore-errors

import functools
import io
import itertools
import math
import os
import random
import sys
from pathlib import Path

import torch
from torch.utils import data

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".ppm")
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet


class Folder(data.Dataset):
    def __init__(self, folder, size, training):
        self.size, self.training = size, training
        self.classes = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
        self.files = [
            (path, k)
            for k, name in enumerate(self.classes)
            for path in sorted(Path(folder, name).iterdir())
            if path.suffix.lower() in SUFFIXES
        ]
        if not self.files:
            raise SystemExit(f"{folder} holds no CLASS/*.jpg")

    def __len__(self):
        return len(self.files)

    def __getitem__(self, k):
        path, label = self.files[k]
        return picture(path.read_bytes(), self.size, self.training), label


class Lmdb(data.Dataset):
    def __init__(self, folder, size, training):
        self.folder, self.size, self.training, self.process = str(folder), size, training, None
        with self.open() as environment:
            self.length = environment.stat()["entries"]

    def open(self):
        import lmdb

        return lmdb.open(self.folder, readonly=True, lock=False, readahead=False)

    def __len__(self):
        return self.length

    def __getitem__(self, k):
        if self.process != os.getpid():  # a worker must not use what its parent opened
            self.process, self.opened = os.getpid(), self.open()
        with self.opened.begin() as transaction:
            value = transaction.get(str(k).encode())
        return picture(value[4:], self.size, self.training), int.from_bytes(value[:4], "little")


def picture(content, size, training):
    """A file as a normalised tensor.  In training it is a random part, mirrored or not; in validation the middle."""
    from PIL import Image

    image = Image.open(io.BytesIO(content)).convert("RGB")
    if training:
        box = random_box(*image.size)
    else:
        side = min(image.size) * 0.875
        left, top = (image.width - side) / 2, (image.height - side) / 2
        box = (left, top, left + side, top + side)
    image = image.resize((size, size), Image.Resampling.BILINEAR, box=box)
    if training and random.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    pixels = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).view(size, size, 3).permute(2, 0, 1)
    return (pixels / 255 - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(DEVIATION).view(3, 1, 1)


def random_box(width, height):
    """8 to 100 % of the area, sides as 3:4 to 4:3 (Szegedy et al. 2015)."""
    area, ratio = width * height * random.uniform(0.08, 1), math.exp(random.uniform(-math.log(4 / 3), math.log(4 / 3)))
    across, down = min(width, math.sqrt(area * ratio)), min(height, math.sqrt(area / ratio))
    left, top = random.uniform(0, width - across), random.uniform(0, height - down)
    return (left, top, left + across, top + down)


def seed_worker(rank, worker):
    random.seed(f"{torch.initial_seed()} {rank}")  # torch gives workers their own seeds, which do not differ by rank


class Batches:
    """This rank's batches of one part of the data.  `start(epoch)` gives an iterator over `steps` of them or more."""

    def __init__(self, path, part, batch, steps, size, rank, world, workers, pin, seed, classes=1000):
        training = part == "train"
        self.steps = steps
        if path is None:
            generator = torch.Generator().manual_seed(seed + rank + (0 if training else 10**6))
            images = torch.randn(4, batch, 3, size, size, generator=generator)
            labels = torch.randint(classes, (4, batch), generator=generator)
            # Four batches repeat, so the loss falls.
            pairs = zip(images, labels, strict=True)
            self.synthetic = [(x.pin_memory(), y.pin_memory()) if pin else (x, y) for x, y in pairs]
            self.classes, self.loader = classes, None
            return
        random.seed(f"{seed} {rank}")  # for --workers 0
        folder = Path(path, part)
        dataset = (Lmdb if (folder / "data.mdb").exists() else Folder)(folder, size, training)
        self.classes = len(dataset.classes) if isinstance(dataset, Folder) else classes
        self.sampler = data.DistributedSampler(dataset, world, rank, shuffle=training, seed=seed, drop_last=training)
        self.loader = data.DataLoader(
            dataset, batch, sampler=self.sampler, drop_last=training, num_workers=workers, pin_memory=pin,
            worker_init_fn=functools.partial(seed_worker, rank), persistent_workers=workers > 0,
        )  # fmt: skip
        self.steps = min(steps or len(self.loader), len(self.loader))
        if not self.steps:
            raise SystemExit(f"{folder}: {len(dataset)} images are fewer than one batch of {batch} on {world} ranks")

    def start(self, epoch):
        if self.loader is None:
            return itertools.islice(itertools.cycle(self.synthetic), epoch * self.steps % 4, None)
        self.sampler.set_epoch(epoch)
        return iter(self.loader)


def convert(folder, target):
    import lmdb

    for part in sorted(path for path in Path(folder).iterdir() if path.is_dir()):
        files = Folder(part, 0, False).files
        out = Path(target, part.name)
        out.mkdir(parents=True)
        size = sum(path.stat().st_size + 4096 for path, _ in files)
        with lmdb.open(str(out), map_size=2 * size + (1 << 20)) as environment, environment.begin(write=True) as writer:
            for k, (path, label) in enumerate(files):
                writer.put(str(k).encode(), label.to_bytes(4, "little") + path.read_bytes())
        print(f"{out}: {len(files)} images of {files[-1][1] + 1} classes")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    convert(*sys.argv[1:])
