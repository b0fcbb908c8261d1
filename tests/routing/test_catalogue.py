"""Rule C1, the catalogue's part, and R4's names ever seen."""

from tests.routing.conftest import NOW, MakeModel, discovery


def test_smoke(make_model: MakeModel) -> None:
    model = make_model("alpha", "alpha/fp8")
    assert model.discovered_at == NOW
