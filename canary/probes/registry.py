"""All probes, in the order in which they run: adding one is a file beside this and a line here."""

from canary.domain.verdicts import Contract
from canary.probes.base import Probe
from canary.probes.filtering import FilteringProbe
from canary.probes.language import LanguageProbe
from canary.probes.latency import LatencyProbe
from canary.probes.structured_output import StructuredOutputProbe

PROBES: tuple[Probe, ...] = (LatencyProbe(), FilteringProbe(), StructuredOutputProbe(), LanguageProbe())


def probe_of(contract: Contract) -> Probe:
    """The probe of a contract. Raises `LookupError` when it has none."""
    for probe in PROBES:
        if probe.contract is contract:
            return probe
    raise LookupError(f"no probe checks {contract}")
