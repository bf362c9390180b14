"""What the table says of numbers that are known."""

import unittest

import table


def number(**given):
    return {"cpu": 10.0, "p50": 100.0, "p99": 300.0, "rate1": 5e5, "busy1": 1.0, "pace": 1.0, "waited": 0.0} | given


def line(results, head):
    found = [row for row in table.rows(results, {"haproxy": "2.6"}) if row[0].startswith(head)]
    return found[0][1:]


class Table(unittest.TestCase):
    def test_a_cell_is_the_median_its_range_and_its_ratio(self):
        results = {
            "tidegate": [number(cpu=9.0), number(cpu=12.0), number(cpu=8.0)],
            "haproxy": [number(cpu=10.0), number(cpu=20.0), number(cpu=18.0)],
        }
        self.assertEqual(line(results, "CPU an event, paced"), ["9.0 (8.0–12.0) · 0.50×", "18.0 (10.0–20.0)"])

    def test_one_round_has_no_range_and_without_haproxy_there_is_no_ratio(self):
        self.assertEqual(line({"nginx": [number()]}, "CPU an event, paced"), ["10.0"])

    def test_the_direct_line_is_taken_off_the_latency_and_nothing_else(self):
        added = table.added(number(), number(p50=60.0, p99=250.0, cpu=None))
        self.assertEqual((added["p50"], added["p99"], added["cpu"]), (40.0, 50.0, 10.0))

    def test_latency_below_zero_has_no_ratio(self):
        results = {"nginx": [number(p50=-3.0)], "haproxy": [number(p50=40.0)]}
        self.assertEqual(line(results, "added latency, median"), ["-3", "40"])

    def test_a_proxy_that_could_do_more_is_marked(self):
        results = {"nginx": [number(busy1=0.5)], "haproxy": [number()]}
        self.assertEqual(line(results, "events/s, unpaced, written one"), ["≥ 500,000 · 1.00×", "500,000"])
        self.assertIn("≥", table.notes(results)[0])

    def test_failed_and_skipped_columns_say_so_and_why(self):
        results = {"tidegate": "FAILED: 9 events", "nginx": "skipped: not installed", "direct": [number(cpu=None)]}
        self.assertEqual(line(results, "CPU an event, paced"), ["FAILED", "skipped", "–"])
        self.assertEqual(table.notes(results), ["Tidegate FAILED: 9 events.", "nginx skipped: not installed."])

    def test_noise_and_late_events_are_told(self):
        results = {"haproxy": [number(waited=0.2, pace=0.8)]}
        self.assertEqual(
            table.notes(results),
            [
                "HAProxy waited up to 20% of a test while others had its core: noise.",
                "HAProxy: only 80% of the paced events came in time.",
            ],
        )

    def test_markdown_has_a_column_for_each(self):
        page = table.markdown(table.rows({"haproxy": [number()]}, {"haproxy": "2.6"})).splitlines()
        self.assertEqual(page[:2], ["|  | HAProxy 2.6 |", "|---|--:|"])
        self.assertEqual({text.count("|") for text in page}, {3})


if __name__ == "__main__":
    unittest.main()
