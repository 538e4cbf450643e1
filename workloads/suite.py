"""The suite: 19 networks, 42 scored tests, 16 micro tests, the quick subset. Nothing else.

The networks' architectures stand in the files of their names. Ids, batches and
shapes are those of AI-Benchmark 0.1.2. GFLOP counts one multiply-accumulate as
two; GB is what convolutions and matrix products read and write of float32; both
are the forward pass's of the whole batch. Reference times stand in reference_scores.json.
"""

from aiscore.spec import Family, Mode, Network, Shape, Suite, TestSpec

INFERENCE, TRAINING = Mode.INFERENCE, Mode.TRAINING
CLASSIFICATION, IMAGE_TO_IMAGE, SEGMENTATION, SEQUENCE = Family


def network(
    name: str, title: str, family: Family, parameters: int, paper: str, backward: float = 2
) -> Network:
    """One row of the table of networks."""
    return Network(
        name=name,
        title=title,
        family=family,
        parameters=parameters,
        paper=paper,
        backward=backward,
    )


def row(
    id: str,
    network: str,
    mode: Mode,
    batch: int,
    input: Shape,
    target: Shape | None,
    gflop: float,
    gigabytes: float,
) -> TestSpec:
    """One row of the tables of tests."""
    return TestSpec(
        id=id,
        network=network,
        title=NETWORKS[network].title,
        mode=mode,
        batch=batch,
        input=input,
        target=target,
        gflop=gflop,
        gigabytes=gigabytes,
    )


# fmt: off
_NETWORKS = (
    #       name                   title                family           trained       paper
    network("mobilenet_v2",        "MobileNet-V2",      CLASSIFICATION,  3_506_153,    "arXiv:1801.04381"),
    network("inception_v3",        "Inception-V3",      CLASSIFICATION,  23_819_401,   "arXiv:1512.00567"),
    network("inception_v4",        "Inception-V4",      CLASSIFICATION,  42_649_769,   "arXiv:1602.07261"),
    network("inception_resnet_v2", "Inception-ResNet-V2", CLASSIFICATION,  55_814_729,   "arXiv:1602.07261"),
    network("resnet_v2_50",        "ResNet-V2-50",      CLASSIFICATION,  25_570_409,   "arXiv:1603.05027"),
    network("resnet_v2_152",       "ResNet-V2-152",     CLASSIFICATION,  60_238_953,   "arXiv:1603.05027"),
    network("vgg_16",              "VGG-16",            CLASSIFICATION,  138_357_544,  "arXiv:1409.1556"),
    network("srcnn",               "SRCNN 9-5-5",       IMAGE_TO_IMAGE,  69_249,       "arXiv:1501.00092"),
    network("vdsr",                "VGG-19 Super-Res",  IMAGE_TO_IMAGE,  668_227,      "arXiv:1511.04587"),
    network("srgan",               "ResNet-SRGAN",      IMAGE_TO_IMAGE,  1_558_531,    "arXiv:1609.04802"),
    network("dped",                "ResNet-DPED",       IMAGE_TO_IMAGE,  401_475,      "arXiv:1704.02470"),
    network("unet",                "U-Net",             IMAGE_TO_IMAGE,  31_043_651,   "arXiv:1505.04597"),
    network("spade",               "Nvidia-SPADE",      IMAGE_TO_IMAGE,  138_020_803,  "arXiv:1903.07291"),
    network("icnet",               "ICNet",             SEGMENTATION,    60,           "arXiv:1704.08545", backward=0),
    network("pspnet",              "PSPNet",            SEGMENTATION,    46_707_139,   "arXiv:1612.01105"),
    network("deeplab",             "DeepLab",           SEGMENTATION,    42_721_356,   "arXiv:1606.00915"),
    network("pixel_rnn",           "Pixel-RNN",         SEQUENCE,        48_867,       "arXiv:1601.06759"),
    network("lstm_sentiment",      "LSTM-Sentiment",    SEQUENCE,        5_429_250,    "doi:10.1162/neco.1997.9.8.1735"),
    network("gnmt",                "GNMT-Translation",  SEQUENCE,        281_798_657,  "arXiv:1609.08144"),
)
NETWORKS = {network.name: network for network in _NETWORKS}

FULL = (
    #   id      network                mode       batch input          target             GFLOP     GB
    row("1.1",  "mobilenet_v2",        INFERENCE, 50, (224, 224, 3),   (1001,),           30.08,   2.70),
    row("1.2",  "mobilenet_v2",        TRAINING,  50, (224, 224, 3),   (1001,),           30.08,   2.70),
    row("2.1",  "inception_v3",        INFERENCE, 20, (346, 346, 3),   (1001,),          293.05,   2.48),
    row("2.2",  "inception_v3",        TRAINING,  20, (346, 346, 3),   (1001,),          293.05,   2.48),
    row("3.1",  "inception_v4",        INFERENCE, 10, (346, 346, 3),   (1001,),          312.41,   2.53),
    row("3.2",  "inception_v4",        TRAINING,  10, (346, 346, 3),   (1001,),          312.41,   2.53),
    row("4.1",  "inception_resnet_v2", INFERENCE, 10, (346, 346, 3),   (1001,),          334.53,   3.60),
    row("4.2",  "inception_resnet_v2", TRAINING,  8,  (346, 346, 3),   (1001,),          267.63,   2.92),
    row("5.1",  "resnet_v2_50",        INFERENCE, 10, (346, 346, 3),   (1001,),          171.16,   1.77),
    row("5.2",  "resnet_v2_50",        TRAINING,  10, (346, 346, 3),   (1001,),          171.16,   1.77),
    row("6.1",  "resnet_v2_152",       INFERENCE, 10, (256, 256, 3),   (1001,),          284.90,   2.33),
    row("6.2",  "resnet_v2_152",       TRAINING,  10, (256, 256, 3),   (1001,),          284.90,   2.33),
    row("7.1",  "vgg_16",              INFERENCE, 20, (224, 224, 3),   (1000,),          618.81,   2.37),
    row("7.2",  "vgg_16",              TRAINING,  2,  (224, 224, 3),   (1000,),           61.88,   0.73),
    row("8.1",  "srcnn",               INFERENCE, 10, (512, 512, 3),   (512, 512, 3),    362.56,   2.08),
    row("8.2",  "srcnn",               INFERENCE, 1,  (1536, 1536, 3), (1536, 1536, 3),  326.30,   1.87),
    row("8.3",  "srcnn",               TRAINING,  10, (512, 512, 3),   (512, 512, 3),    362.56,   2.08),
    row("9.1",  "vdsr",                INFERENCE, 10, (256, 256, 3),   (256, 256, 3),    874.26,   6.39),
    row("9.2",  "vdsr",                INFERENCE, 1,  (1024, 1024, 3), (1024, 1024, 3), 1398.82,  10.23),
    row("9.3",  "vdsr",                TRAINING,  10, (224, 224, 3),   (224, 224, 3),    669.36,   4.90),
    row("10.1", "srgan",               INFERENCE, 10, (512, 512, 3),   (512, 512, 3),    656.39,   4.68),
    row("10.2", "srgan",               INFERENCE, 1,  (1536, 1536, 3), (1536, 1536, 3),  590.75,   4.22),
    row("10.3", "srgan",               TRAINING,  5,  (512, 512, 3),   (512, 512, 3),    328.19,   2.34),
    row("11.1", "dped",                INFERENCE, 10, (256, 256, 3),   (256, 256, 3),    523.95,   3.71),
    row("11.2", "dped",                INFERENCE, 1,  (1024, 1024, 3), (1024, 1024, 3),  838.32,   5.93),
    row("11.3", "dped",                TRAINING,  15, (128, 128, 3),   (128, 128, 3),    196.48,   1.39),
    row("12.1", "unet",                INFERENCE, 4,  (512, 512, 3),   (512, 512, 3),   1541.62,   5.38),
    row("12.2", "unet",                INFERENCE, 1,  (1024, 1024, 3), (1024, 1024, 3), 1541.62,   5.38),
    row("12.3", "unet",                TRAINING,  4,  (256, 256, 3),   (256, 256, 3),    385.41,   1.44),
    row("13.1", "spade",               INFERENCE, 5,  (128, 128, 3),   (128, 128, 3),    740.82,   2.65),
    row("13.2", "spade",               TRAINING,  1,  (128, 128, 3),   (128, 128, 3),    148.49,   1.61),
    row("14.1", "icnet",               INFERENCE, 5,  (1024, 1536, 3), (1024, 1536, 3),  218.43,   4.07),
    row("14.2", "icnet",               TRAINING,  10, (1024, 1536, 3), (1024, 1536, 3),  436.85,   8.11),
    row("15.1", "pspnet",              INFERENCE, 5,  (720, 720, 3),   (90, 90, 3),     3658.88,  11.60),
    row("15.2", "pspnet",              TRAINING,  1,  (512, 512, 3),   (64, 64, 3),      367.43,   1.34),
    row("16.1", "deeplab",             INFERENCE, 2,  (512, 512, 3),   (64, 64, 3),      711.78,   4.53),
    row("16.2", "deeplab",             TRAINING,  1,  (384, 384, 3),   (48, 48, 3),      200.04,   1.42),
    row("17.1", "pixel_rnn",           INFERENCE, 50, (64, 64, 3),     (64, 64, 3),       36.59,   3.79),
    row("17.2", "pixel_rnn",           TRAINING,  10, (64, 64, 3),     (64, 64, 3),        7.32,   0.77),
    row("18.1", "lstm_sentiment",      INFERENCE, 100,(1024, 300),     (2,),            1110.65,  24.43),
    row("18.2", "lstm_sentiment",      TRAINING,  10, (1024, 300),     (2,),             111.07,  22.44),
    row("19.1", "gnmt",                INFERENCE, 1,  (1, 20),         None,              14.02,  27.97),
)

MICRO = (
    row("1.m",  "mobilenet_v2",        INFERENCE, 1,  (224, 224, 3),   (1001,),            0.60,  0.068),
    row("2.m",  "inception_v3",        INFERENCE, 1,  (346, 346, 3),   (1001,),           14.65,  0.215),
    row("3.m",  "inception_v4",        INFERENCE, 1,  (346, 346, 3),   (1001,),           31.24,  0.406),
    row("4.m",  "inception_resnet_v2", INFERENCE, 1,  (346, 346, 3),   (1001,),           33.45,  0.560),
    row("5.m",  "resnet_v2_50",        INFERENCE, 1,  (346, 346, 3),   (1001,),           17.12,  0.269),
    row("6.m",  "resnet_v2_152",       INFERENCE, 1,  (256, 256, 3),   (1001,),           28.49,  0.449),
    row("7.m",  "vgg_16",              INFERENCE, 1,  (224, 224, 3),   (1000,),           30.94,  0.644),
    row("8.m",  "srcnn",               INFERENCE, 1,  (512, 512, 3),   (512, 512, 3),     36.26,  0.208),
    row("9.m",  "vdsr",                INFERENCE, 1,  (512, 512, 3),   (512, 512, 3),    349.70,  2.559),
    row("10.m", "srgan",               INFERENCE, 1,  (512, 512, 3),   (512, 512, 3),     65.64,  0.474),
    row("11.m", "dped",                INFERENCE, 1,  (256, 256, 3),   (256, 256, 3),     52.40,  0.372),
    row("12.m", "unet",                INFERENCE, 1,  (512, 512, 3),   (512, 512, 3),    385.41,  1.437),
    row("13.m", "spade",               INFERENCE, 1,  (128, 128, 3),   (128, 128, 3),    148.49,  1.613),
    row("14.m", "icnet",               INFERENCE, 1,  (1024, 1536, 3), (1024, 1536, 3),   43.69,  0.835),
    row("15.m", "pspnet",              INFERENCE, 1,  (720, 720, 3),   (90, 90, 3),      731.78,  2.470),
    row("16.m", "deeplab",             INFERENCE, 1,  (512, 512, 3),   (64, 64, 3),      355.89,  2.352),
)
# fmt: on

# Of all choices of eight tests of five networks that take two minutes on a small CPU, the one whose
# geometric means follow the complete cards of reference_scores.json best, in both modes.
QUICK = ("1.1", "1.2", "2.1", "2.2", "12.1", "13.1", "13.2", "15.2")

TESTS: dict[Suite, tuple[TestSpec, ...]] = {Suite.FULL: FULL, Suite.MICRO: MICRO}
