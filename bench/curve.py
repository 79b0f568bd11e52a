"""Draws rows of a soak (soak.py) as SVG: one band for each figure, time to the right."""

WIDTH, BAND, LEFT, TOP = 900, 110, 110, 40
BANDS = [("rss_kib", "memory, MiB", 1 / 1024), ("open", "streams open", 1), ("fds", "descriptors", 1),
         ("held_bytes", "held, KiB", 1 / 1024), ("done", "answers, thousands", 1 / 1000)]  # fmt: skip


def line(points):
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def band(rows, at, name, title, factor):
    """One figure over time; its axis begins at 0."""
    values = [max(0, row[name]) * factor for row in rows]
    top = max(values) or 1
    end = rows[-1]["t"] or 1
    base = TOP + at * BAND + BAND - 25
    height = BAND - 40
    points = [(LEFT + row["t"] / end * (WIDTH - LEFT - 20), base - v / top * height) for row, v in zip(rows, values)]
    return f"""<text x="10" y="{base - height / 2:.0f}">{title}</text>
<text x="{LEFT - 6}" y="{base - height + 4}" text-anchor="end">{top:,.1f}</text>
<text x="{LEFT - 6}" y="{base + 4}" text-anchor="end">0</text>
<path d="M{LEFT} {base}H{WIDTH - 20}" stroke="#bbb"/>
<polyline points="{line(points)}" fill="none" stroke="#1f5fa8" stroke-width="1.5"/>
"""


def draw(rows, path, title):
    bands = "".join(band(rows, at, *one) for at, one in enumerate(BANDS))
    height = TOP + len(BANDS) * BAND + 20
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'font-family="sans-serif" font-size="11">\n<rect width="100%" height="100%" fill="#fff"/>\n'
        f'<text x="10" y="22" font-size="14">{title}</text>\n{bands}'
        f'<text x="{WIDTH - 20}" y="{height - 8}" text-anchor="end">{rows[-1]["t"]} s</text>\n</svg>\n'
    )
