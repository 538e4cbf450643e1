"""Records with a value in every field, made from the model's own annotations."""

from collections.abc import Mapping
from enum import Enum
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

from aiscore.results.model import Strict

Model = TypeVar("Model", bound=Strict)
Given = Mapping[tuple[type[Strict], str], Any]
SIMPLE: Mapping[type, Any] = {bool: True, int: 1, float: 1.0}


def filled(model: type[Model], text: str, key: str, given: Given) -> Model:
    """With that text wherever any is allowed and that key in every mapping of any keys.

    The ``given`` fields have another value. Nothing is validated.
    """

    def value(annotation: Any) -> Any:
        arguments = [one for one in get_args(annotation) if one is not NoneType]
        match get_origin(annotation):
            case None if annotation is str:
                return text
            case None if issubclass(annotation, Strict):
                return record(annotation)
            case None if issubclass(annotation, Enum):
                return next(iter(annotation))
            case None:
                return SIMPLE[annotation]
            case kind if kind is Literal:
                return arguments[0]
            case kind if kind is list:
                return [value(arguments[0])]
            case kind if kind is dict:
                return {(key if arguments[0] is str else value(arguments[0])): value(arguments[1])}
            case kind if kind is tuple:
                return tuple(map(value, arguments))
            case _:  # one of several, or one with a bound
                return value(arguments[0])

    def record(model: type[Strict]) -> Strict:
        fields = {
            name: given[model, name] if (model, name) in given else value(field.annotation)
            for name, field in model.model_fields.items()
        }
        return model.model_construct(**fields)

    return record(model)
