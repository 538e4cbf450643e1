"""The options that the commands which measure have in common."""

import click

device = click.option(
    "--device",
    metavar="auto|cpu|gpu|gpu:N|UUID|NAME",
    default="auto",
    show_default=True,
    help="Part of a name or UUID is enough if it fits one device.",
)
memory_fraction = click.option(
    "--memory-fraction",
    type=float,
    metavar="F",
    help="Share of the GPU's memory for the framework; else it grows on demand.",
)
seed = click.option("--seed", type=int, metavar="N", default=0, show_default=True)
price = click.option("--price", type=float, metavar="N", help="What the device costs.")
currency = click.option("--currency", metavar="CUR", help="The currency of --price, such as EUR.")
yes = click.option("--yes", is_flag=True, help="Overwrite without asking.")
