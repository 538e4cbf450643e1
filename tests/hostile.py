"""Names that mean harm, for every place where a name is shown."""

NAMES = {
    "markup": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "end of a data block": "</script><!-- \"'`--><svg/onload=alert(1)>",
    "formula": "=cmd|' /C calc'!A0",
    "template": "{{ 7 * 7 }}{% raw %}${1+1}",
    "escapes": "\x1b[31mred\x1b[0m\x07\x00\\u003c\n\r\t",
    "500 letters": "W" * 500,
    "right to left": "\u202egnp.elif\u2066 \u05d0\u05d1\u05d2",
    "address": "javascript:alert(1)",
    "wide": "使用 AMD Radeon™ ±1",
    "nothing": " ",
}
