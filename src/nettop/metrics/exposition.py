"""Samples in the formats of Prometheus, written by the library `prometheus_client`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from .families import COUNTER, FAMILIES, Family, Sample


class Collector:
    """What a registry of prometheus_client asks for metrics."""

    def __init__(self, samples: Callable[[], Iterable[Sample]]) -> None:
        """`samples` gives the current samples."""
        self._samples = samples

    def describe(self) -> Iterator[Metric]:
        """Every metric without samples; `?name[]=…` of a scrape selects by these names."""
        return (_metric(family) for family in FAMILIES)

    def collect(self) -> Iterator[Metric]:
        """The metrics that have samples, in the order of `FAMILIES`."""
        known: dict[Family, list[Sample]] = {family: [] for family in FAMILIES}
        for sample in self._samples():
            known[sample.family].append(sample)
        for family, samples in known.items():
            metric = _metric(family)
            for sample in samples:
                metric.add_metric(tuple(map(_utf_8, sample.labels)), sample.value)
            if samples:
                yield metric


def _metric(family: Family) -> CounterMetricFamily | GaugeMetricFamily:
    make = CounterMetricFamily if family.type == COUNTER else GaugeMetricFamily
    return make(family.name, family.help, labels=family.labels)


def _utf_8(text: str) -> str:
    """The text with `?` for bytes that are not UTF-8: an interface may have any name."""
    return text.encode("utf-8", "replace").decode()


def registry(samples: Callable[[], Iterable[Sample]]) -> CollectorRegistry:
    """A registry of these samples and of nothing else: no metrics of Python or the process."""
    own = CollectorRegistry()
    own.register(Collector(samples))
    return own


def text(samples: Iterable[Sample]) -> str:
    """The samples in the text format, version 0.0.4, without time stamps."""
    return generate_latest(registry(lambda: samples)).decode()
