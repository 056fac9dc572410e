"""Tests of the page: its colours in light and dark, for eyes of all kinds."""
import itertools
import re

import reports
from setting import same


def luminance(color):
    parts = [int(color[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(part * share for part, share in zip(parts, (0.2126, 0.7152, 0.0722)))


def contrast(first, second):
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def mixed(color, share, ground):
    return "#" + "".join(f"{round(int(color[at:at + 2], 16) * share + int(ground[at:at + 2], 16) * (1 - share)):02x}" for at in (1, 3, 5))


# What eyes without one kind of cone see of linear red, green and blue (Machado, Oliveira and Fernandes 2009, severity 1)
BLIND = {"protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
         "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
         "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900))}


def lab(color, eyes):
    """CIE L*a*b* of a colour as those eyes see it."""
    linear = [(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4) for part in (int(color[at:at + 2], 16) / 255 for at in (1, 3, 5))]
    r, g, b = (min(1, max(0, sum(share * part for share, part in zip(row, linear)))) for row in eyes)
    white = [part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in ((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089)]
    return 116 * white[1] - 16, 500 * (white[0] - white[1]), 200 * (white[1] - white[2])


def test_hues(setting):
    """Eyes without one kind of cone tell the hues of neighbouring lines apart, and any two hues from each other at least a little."""
    style = reports.assets(setting.assets)[1]
    hues = [re.search(rf"--hue{hue}: light-dark\((#\w+), (#\w+)\)", style).groups() for hue in range(7)]
    for theme, (name, eyes) in itertools.product((0, 1), BLIND.items()):
        seen = [lab(pair[theme], eyes) for pair in hues]
        for i, j in itertools.combinations(range(7), 2):
            apart = sum((a - b) ** 2 for a, b in zip(seen[i], seen[j])) ** 0.5
            least = 20 if j - i in (1, 6) else 12
            assert apart >= least, f"hues {i} and {j}, theme {theme}, {name}: {apart:.1f}"


def test_contrast(setting):
    """Texts reach 4.5:1 on every ground, on the tints of links and figures too; hues 1.8:1 beside the ground."""
    style = reports.assets(setting.assets)[1]
    pairs = {name: (light[:7], dark[:7]) for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", style)}
    tints = sorted({int(share) / 100 for share in re.findall(r"color-mix\(in srgb, var\(--\w+\) (\d+)%", style)})
    same(bool(tints) and len(pairs) > 20, True, "the style's tints and colours are found")
    texts = ["text", "quiet", "link", "error", "warning", "remark", "added", "removed", "keyword", "number", "string", "comment", "name", "type"]
    for theme in (0, 1):
        colors = {name: pair[theme] for name, pair in pairs.items()}
        for text, ground in itertools.product(texts, ("ground", "raised", "sunk")):
            assert contrast(colors[text], colors[ground]) >= 4.5, f"{text} on {ground}, theme {theme}: {contrast(colors[text], colors[ground]):.2f}"
        for text, hue, share in itertools.product(texts, [f"hue{hue}" for hue in range(7)] + ["gold", "quiet"], tints):
            tint = mixed(colors[hue], share, colors["ground"])
            assert contrast(colors[text], tint) >= 4.5, f"{text} on the tint of {hue}, theme {theme}: {contrast(colors[text], tint):.2f}"
        for hue in range(7):
            assert contrast(colors[f"hue{hue}"], colors["ground"]) >= 1.8, f"hue {hue}, theme {theme}"
    same(len(set(pairs[f"hue{hue}"][0] for hue in range(7))), 7)


def test_themes(setting):
    """As the system has it, and as one asks."""
    ground = "getComputedStyle(document.body).backgroundColor"
    page = setting.open("one")
    light = page.value(ground)
    page.dark(True)
    dark = page.value(ground)
    same((light, dark), ("rgb(255, 255, 255)", "rgb(20, 23, 26)"))
    page.key("t")
    same(page.value(ground), light, "light, whatever the system has")
    page.key("t")
    page.dark(False)
    same(page.value(ground), dark, "dark")
    page.close()
