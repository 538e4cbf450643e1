"""The networks of the throughput sweep, and a test of any of them at any batch.

No suite has these tests, and nothing of them is scored (docs/throughput.md).
GFLOP and GB are counted as the suite's are, of one image's forward pass; GB
without the weights, which a batch reads once.
"""

from aiscore.spec import Family, Mode, Network, TestSpec

IMAGE = (224, 224, 3)
CLASSES = 1000
FLOAT32_GB = 4e-9


def _network(name: str, title: str, parameters: int, paper: str) -> Network:
    return Network(
        name=name,
        title=title,
        family=Family.CLASSIFICATION,
        parameters=parameters,
        paper=paper,
    )


# fmt: off
_NETWORKS = (
    #        name                   title                    trained      paper
    _network("resnet50",            "ResNet-50",             25_557_032,  "arXiv:1512.03385"),
    _network("resnet101",           "ResNet-101",            44_549_160,  "arXiv:1512.03385"),
    _network("resnext101_32x4d",    "ResNeXt-101-32x4d",     44_177_704,  "arXiv:1611.05431"),
    _network("se_resnext101_32x4d", "SE-ResNeXt-101-32x4d",  48_955_416,  "arXiv:1709.01507"),
)
_IMAGE_WORK = {
    #                       GFLOP   GB
    "resnet50":            (8.178,  0.0869),
    "resnet101":           (15.603, 0.1276),
    "resnext101_32x4d":    (15.940, 0.1675),
    "se_resnext101_32x4d": (15.949, 0.1676),
}
# fmt: on
NETWORKS = {network.name: network for network in _NETWORKS}


def point(network: str, mode: Mode, batch: int, id: str = "") -> TestSpec:
    """The test of a network at this batch."""
    gflop, gigabytes = _IMAGE_WORK[network]
    return TestSpec(
        id=id or f"{network} {mode} {batch}",
        network=network,
        title=NETWORKS[network].title,
        mode=mode,
        batch=batch,
        input=IMAGE,
        target=(CLASSES,),
        gflop=gflop * batch,
        gigabytes=FLOAT32_GB * NETWORKS[network].parameters + gigabytes * batch,
    )
