"""A Widget: a number of config maps, each with a colour. Each restriction is defined once."""

from typing import Final

from pydantic import Field

from kit.crd.definition import Column, Definition
from kit.crd.model import Model, schema
from kit.crd.rule import Rule
from kit.kube.protocol import ResourceType

WIDGETS: Final = ResourceType(api_version="example.org/v1", kind="Widget", plural="widgets")
MOST: Final = 5
COUNT_RANGE: Final = Rule(
    expression=f"self >= 0 && self <= {MOST}",
    message=f"count must be 0 to {MOST}: make another widget for more",
    holds=lambda count: 0 <= count <= MOST,
)
COLOURS_ONCE: Final = Rule(
    expression="self.all(x, self.exists_one(y, x == y))",
    message="colours names one twice: name each once",
    holds=lambda colours: len(set(colours)) == len(colours),
)


class WidgetSpec(Model):
    """What a person may ask for."""

    count: int = Field(default=1, description="How many parts.", json_schema_extra=schema(COUNT_RANGE, format="int32"))
    colours: list[str] = Field(
        default_factory=lambda: ["red"],
        description="The colours of the parts, in turn.",
        json_schema_extra=schema(COLOURS_ONCE, list_type="atomic", maxItems=8, default=["red"]),
    )


class ConditionStatus(Model):
    """One condition."""

    type: str = Field(description="Ready, or SpecAccepted.")
    status: str = Field(description="True, False or Unknown.")


class WidgetStatus(Model):
    """The status that the operator reports."""

    parts: int | None = Field(default=None, description="How many parts there are.")
    conditions: list[ConditionStatus] | None = Field(
        default=None,
        description="What is true now.",
        json_schema_extra=schema(list_type="map", list_map_keys=["type"]),
    )


KIND: Final = Definition(
    resource=WIDGETS,
    singular="widget",
    short_names=("wd",),
    categories=(),
    description="So many config maps.",
    spec=WidgetSpec,
    status=WidgetStatus,
    columns=(Column(name="Parts", path=".status.parts", description="How many parts there are.", kind="integer"),),
    source="tests/kit/toy",
)
