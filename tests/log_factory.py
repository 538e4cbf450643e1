"""Console logs of ai-benchmark, as it prints them and as people keep them."""

import itertools
import json
import re
from collections.abc import Callable, Mapping

from aiscore.results.reference import Card
from aiscore.scoring.score import printed_band
from workloads.suite import FULL

HEADING = """
>>   AI-Benchmark-v.0.1.2   
>>   Let the AI Games begin..

*  TF Version: 2.4.1
*  Platform: Linux-5.15.0-48-generic-x86_64-with-glibc2.29
*  CPU: N/A
*  CPU RAM: 16 GB
*  GPU/0: NVIDIA GeForce RTX 2070 SUPER
*  GPU RAM: 6.4 GB
*  CUDA Version: 10.1
*  CUDA Build: V10.1.243

The benchmark is running...
The tests might take up to 20 minutes
Please don't interrupt the script
"""  # noqa: W291
CLOSING = "\nFor more information and results, please visit http://ai-benchmark.com/alpha\n"
TENSORFLOW = (
    "2023-04-25 10:11:12.131415: I tensorflow/core/platform/cpu_feature_guard.cc:193] This"
    " TensorFlow binary is optimized with oneDNN: AVX2 FMA",
    "W0000 00:00:1741057624.014141     137 gpu_device.cc:2022] size=3x3: 12 ms",
)

Times = Mapping[str, tuple[float, float | None]]


def original(
    times: Times, scores: Mapping[str, int | None], heading: str = HEADING, networks: int = 19
) -> str:
    """What the original prints for these times (ms), its sections and its numbers."""
    lines = [heading]
    seen: list[str] = []
    for spec in FULL:
        if spec.id not in times:
            continue
        number = spec.id.split(".")[0]
        if spec.title not in seen:
            seen.append(spec.title)
            lines.append(f"\n{number}/{networks}. {spec.title}\n")
        size = f"{spec.input[0]}x{spec.input[1]}"
        lines.append(
            f"{spec.id} - {spec.mode:<9} | batch={spec.batch}, size={size}:"
            f" {printed(*times[spec.id])}"
        )
    lines.append("")
    for title, name in (("Inference", "inference"), ("Training", "training"), ("AI", "ai")):
        if scores.get(name) is not None:
            lines.append(f"Device {title} Score: {scores[name]}")
    return "\n".join([*lines, CLOSING])


def of_card(card: Card, scores: Mapping[str, int | None] | None = None) -> str:
    """The log that the card's source may have been."""
    return original(card.tests, card.scores if scores is None else scores)


def printed(mean: float, std: float | None) -> str:
    """As the original rounds."""
    low, high = printed_band(mean, std)
    if high - low > 0.5:
        return f"{mean:.0f} ± {2 if std is None else std:.0f} ms"
    return f"{mean:.1f} ± {0 if std is None else std:.1f} ms"


def every_line(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "\n".join(change(line) for line in text.split("\n"))


def interleaved(text: str) -> str:
    """TensorFlow's lines between the benchmark's, and run into their ends."""
    lines = text.split("\n")
    return "\n".join(
        line + TENSORFLOW[0] if line.endswith(" ms") and index % 3 else f"{line}\n{TENSORFLOW[1]}"
        for index, line in enumerate(lines)
    )


def verbose(text: str) -> str:
    """Every pass has a line."""
    return re.sub(
        r"(?m)^(\d+\.\d+ - (\w+))",
        lambda m: f"{m[2].title()} Time: 37 ms\n" * 3 + f"\n{m[1]}",
        text,
    )


def renumbered(text: str) -> str:
    """A fork that leaves tests out counts otherwise."""
    text = re.sub(r"(?m)^\d+\.\d+ - ", "8.1 - ", text)
    return text.replace("/19. ", "/18. ")


def notebook(text: str) -> str:
    """A notebook with the log as the output of a cell."""
    lines = text.splitlines(keepends=True)
    cells = [
        {"cell_type": "markdown", "source": ["# A benchmark"]},
        {"cell_type": "code", "outputs": [{"output_type": "stream", "text": lines}]},
    ]
    return json.dumps({"cells": cells, "nbformat": 4}, indent=1, ensure_ascii=False)


def damaged(text: str) -> str:
    """Markdown headings put in by search and replace, which also hit a batch."""
    text = re.sub(r"(?m)^(\d+/\d+\. )", r"### \1", text.replace("batch=50,", "batch=5### 0,"))
    return re.sub(r"(?m) ms$", " ms  ", text).replace("Device ", "* Device ")


TEXT_FORMS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "fenced": lambda text: f"# My card\n\nSome words.\n\n```\n{text}\n```\n",
    "damaged Markdown": damaged,
    "bold and code": every_line(
        lambda line: f"**{line}**" if line[:1].isdigit() else f"`{line}`" if line else line
    ),
    "prompt": every_line(lambda line: f">>> {line}"),
    "quoted": every_line(lambda line: f"> > {line}"),
    "in quotation marks": every_line(lambda line: f'"{line}",'),
    "notebook": notebook,
    "notebook on one line": lambda text: json.dumps({"outputs": [{"text": text}]}),
    "a line of JSON each": every_line(lambda line: json.dumps({"log": f"{line}\n"})),
    "escaped twice": lambda text: json.dumps(json.dumps({"log": text})),
    "TensorFlow between": interleaved,
    "verbose": verbose,
    "no plus-minus sign": lambda text: text.replace("±", "ms, std:"),
    "ASCII": lambda text: text.replace("±", "+-"),
    "UTF-8 read as cp1252": lambda text: text.replace("±", "Â±"),
    "UTF-8 read as GBK": lambda text: text.replace("±", "卤"),
    "lost sign": lambda text: text.replace("±", "\ufffd"),
    "HTML": lambda text: text.replace("±", "&plusmn;").replace(">", "&gt;"),
    "logger": every_line(lambda line: f"2025-03-04 03:16:52,541 - ai_benchmark - INFO - {line}"),
    "coloured": every_line(lambda line: f"\x1b[32m{line}\x1b[0m"),
    "renumbered": renumbered,
    "indented": every_line(lambda line: f"    {line}"),
    "run together": lambda text: re.sub(r"\s+", " ", text),
    "table": every_line(lambda line: f"| {line.replace('|', chr(92) + '|')} |" if line else line),
}

BYTE_FORMS: dict[str, Callable[[str], bytes]] = {
    "UTF-8": lambda text: text.encode(),
    "UTF-8 with a mark": lambda text: text.encode("utf-8-sig"),
    "cp1252": lambda text: text.encode("cp1252", errors="replace"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "CR": lambda text: text.replace("\n", "\r").encode(),
    "mixed line ends": lambda text: mixed(text).encode(),
}


def mixed(text: str) -> str:
    """Line ends of every kind."""
    ends = itertools.cycle(["\n", "\r\n", "\r\r\n"])
    return "".join(line + next(ends) for line in text.split("\n"))
