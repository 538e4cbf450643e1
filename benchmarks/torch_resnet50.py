"""Trains torchvision's ResNet-50 in a plain PyTorch loop, to set beside ``aiscore throughput``.

    python benchmarks/torch_resnet50.py --batch 256 --precision bf16 -o torch.json

channels_last, automatic mixed precision and torch.compile, synthetic data on the
device, cross-entropy, SGD with momentum 0.9 and weight decay: what the sweep's
training step does. Needs torch and torchvision, which are no part of aiscore.
``--against SWEEP`` says how the best ResNet-50 point of a sweep compares.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

from aiscore.results.sweep_store import load
from aiscore.scoring.score import median_error
from aiscore.spec import Mode

CLASSES = 1000
RATE, MOMENTUM, WEIGHT_DECAY = 0.01, 0.9, 1e-4
WARM_UP_STEPS = 20  # after the first one, which compiles
BAR = 0.9
QUANTILE = 1.96


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints one line, writes the JSON; 1 if a sweep that was named is below the bar."""
    options = _parser().parse_args(arguments)
    measured = measure(options)
    text = json.dumps(measured, indent=1)
    if options.output:
        options.output.write_text(f"{text}\n")
    print(text)
    if options.against is None:
        return 0
    best = best_resnet50(options.against)
    share = best / measured["images_per_s"]
    print(f"aiscore's best ResNet-50 training: {best:.0f} images/s, {share:.2f} of PyTorch's")
    return int(share < BAR)


def best_resnet50(path: Path) -> float:
    """The most images a second of any ResNet-50 training line of the sweep."""
    sweep = load(path)
    lines = sweep.summary.lines if sweep.summary else []
    return max(
        line.best_images_per_s
        for line in lines
        if line.network == "resnet50" and line.mode is Mode.TRAINING and line.best_images_per_s
    )


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Images a second of the median block of steps, with the set-up that made it."""
    import torch
    import torchvision

    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    tf32 = options.precision != "fp32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    step = _training_step(torch, torchvision, options)
    begin = time.perf_counter()
    step()
    _sync(torch, options.device)
    first_s = time.perf_counter() - begin
    for _ in range(WARM_UP_STEPS if options.steps > WARM_UP_STEPS else 1):
        step()
    times_s = [
        _time_block(lambda: _sync(torch, options.device), step, options.block)
        for _ in range(max(1, options.steps // options.block))
    ]
    error = median_error(times_s)
    pass_s = median(times_s)
    gpu = options.device == "cuda"
    return {
        "network": "resnet50",
        "mode": "training",
        "batch": options.batch,
        "precision": options.precision,
        "compile": options.compile,
        "channels_last": True,
        "images_per_s": options.batch / pass_s,
        "relative_error": None if error is None else QUANTILE * error / pass_s,
        "first_step_s": first_s,
        "steps_s": times_s,
        "peak_device_bytes": torch.cuda.max_memory_allocated() if gpu else None,
        "device": torch.cuda.get_device_name() if gpu else "cpu",
        "torch": torch.__version__,
        "torchvision": torchvision.__version__,
        "cudnn": torch.backends.cudnn.version() if gpu else None,
    }


def _training_step(torch: Any, torchvision: Any, options: argparse.Namespace) -> Callable[[], None]:
    device = torch.device(options.device)
    model = torchvision.models.resnet50().to(device, memory_format=torch.channels_last).train()
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY
    )
    images = torch.rand(options.batch, 3, options.side, options.side, device=device) * 2 - 1
    images = images.to(memory_format=torch.channels_last)
    labels = torch.randint(CLASSES, (options.batch,), device=device)
    kind = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(options.precision)
    scaler = torch.amp.GradScaler(options.device, enabled=options.precision == "fp16")
    forward = torch.compile(model) if options.compile else model

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(options.device, dtype=kind) if kind else nullcontext():
            loss = criterion(forward(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return step


def _time_block(sync: Callable[[], None], step: Callable[[], None], count: int) -> float:
    """The mean time (s) of so many steps with one wait at their end."""
    begin = time.perf_counter()
    for _ in range(count):
        step()
    sync()
    return (time.perf_counter() - begin) / count


def _sync(torch: Any, device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--precision", choices=["fp32", "tf32", "fp16", "bf16"], default="fp16")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--block", type=int, default=10, help="steps with one wait at their end")
    parser.add_argument("--side", type=int, default=224, help="pixels of an image's side")
    parser.add_argument("--against", type=Path, metavar="SWEEP")
    parser.add_argument("-o", "--output", type=Path, metavar="PATH")
    return parser


if __name__ == "__main__":
    sys.exit(main())
