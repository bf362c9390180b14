"""What is shown: the numbers of all rounds come in, one table goes out, for a terminal or in Markdown.

A cell is the median over the rounds, its range, and its ratio to HAProxy's median. Nothing here measures.
"""

from statistics import median

REFERENCE = "haproxy"
TITLES = {"tidegate": "Tidegate", "haproxy": "HAProxy", "nginx": "nginx", "direct": "no proxy"}

# The key of a number, the head of its line, how a value is written, and the key of how busy the proxy was, where a
# proxy that was not busy could have done more.
LINES = [
    ("cpu", "CPU an event, paced (µs)", "{:.1f}", None),
    ("p50", "added latency, median (µs)", "{:.0f}", None),
    ("p99", "added latency, 99th percentile (µs)", "{:.0f}", None),
    ("rate1", "events/s, unpaced, written one by one", "{:,.0f}", "busy1"),
    ("cpu1", "CPU an event of these (µs)", "{:.2f}", None),
    ("rate16", "events/s, unpaced, written 16 at once", "{:,.0f}", "busy16"),
    ("cpu16", "CPU an event of these (µs)", "{:.2f}", None),
    ("idle", "memory an idle stream (KiB)", "{:.1f}", None),
]

# A proxy that wanted less of its core than this was not what held the events back.
BUSY = 0.90
# A proxy that waited longer than this share of the time for its core had to share it.
WAITED = 0.03
# A paced test that delivered less of its events than this was not at that pace.
PACE = 0.95


def added(proxy, direct):
    """The numbers of one round of a proxy, with the latency of the direct line in that round taken off."""
    return proxy | {key: proxy[key] - direct[key] for key in ("p50", "p99")}


def values(result, key):
    """The numbers of a result under one key, one a round; none if it has no rounds."""
    rounds = [] if isinstance(result, str) else result
    return [numbers[key] for numbers in rounds if numbers.get(key) is not None]


def cell(result, reference, key, spelling, busy=None):
    """One cell. A result is a list of rounds, or the text of why there is none."""
    seen = values(result, key)
    if not seen:
        return "–" if not isinstance(result, str) else result.split(":")[0]
    middle = median(seen)
    text = spelling.format(middle)
    if busy and (used := values(result, busy)) and median(used) < BUSY:
        text = "≥ " + text
    if len(seen) > 1:
        text += f" ({spelling.format(min(seen))}–{spelling.format(max(seen))})"
    base = values(reference, key)
    # A ratio of latencies near zero, or below it in the noise, says nothing.
    if base and median(base) > 0 and middle > 0:
        text += f" · {middle / median(base):.2f}×"
    return text


def rows(results, versions):
    """The cells of the table, head first: a line for each number, a column for each proxy and for no proxy."""
    reference = results.get(REFERENCE, [])
    table = [["", *(f"{TITLES[name]} {versions.get(name, '')}".strip() for name in results)]]
    for key, head, spelling, busy in LINES:
        line = [head]
        for name, result in results.items():
            # No ratio of HAProxy to itself, nor of the line without a proxy, which is no competitor.
            base = [] if name in ("direct", REFERENCE) else reference
            line.append(cell(result, base, key, spelling, busy))
        table.append(line)
    return table


def notes(results):
    """What a reader must know before believing the table."""
    found = []
    if any("≥" in text for row in rows(results, {}) for text in row):
        found.append("≥: the proxy had not used up its core; source and sink were the slower ones.")
    for name, result in results.items():
        if isinstance(result, str):
            found.append(f"{TITLES[name]} {result}.")
        if (waited := values(result, "waited")) and median(waited) > WAITED:
            found.append(f"{TITLES[name]} waited up to {median(waited):.0%} of a test while others had its core: noise.")
        if (pace := values(result, "pace")) and median(pace) < PACE:
            found.append(f"{TITLES[name]}: only {median(pace):.0%} of the paced events came in time.")
    return found


def plain(table):
    """For a terminal."""
    widths = [max(map(len, column)) for column in zip(*table)]
    return "\n".join("  ".join(t.ljust(w) for t, w in zip(row, widths)).rstrip() for row in table)


def markdown(table):
    """For a page."""
    lines = ["| " + " | ".join(row) + " |" for row in table]
    lines.insert(1, "|---" + "|--:" * (len(table[0]) - 1) + "|")
    return "\n".join(lines)
