"""NumPy functions about types and shapes, known when compiling: finfo, result_type, ndim, iscomplexobj."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.frontend import arrays
from srcgraph.frontend.entities import NONE, Array, Const, Entity, Scalar, Tup
from srcgraph.frontend.memory import ref_type, refuse
from srcgraph.frontend.numpy_table import array_function
from srcgraph.ir.dims import product
from srcgraph.ir.promote import common_dtype
from srcgraph.ir.types import ScalarType, TensorType

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def _info(function: Any) -> None:
    @array_function(function)
    def info(low: Lowering, dtype: Entity) -> Entity:
        asked = low.static(dtype, "the dtype") if not isinstance(dtype, Array | Scalar) else low.value(dtype).type.dtype
        try:
            return Const(function(asked))
        except (TypeError, ValueError) as error:
            raise refuse(str(error), low.loc, kind=InferenceError) from None


_info(np.finfo)
_info(np.iinfo)


def _type_of(low: Lowering, entity: Entity) -> TensorType:
    if isinstance(entity, Array):
        return ref_type(low, entity)
    return low.value(arrays.as_array(low, entity) if isinstance(entity, Tup) else entity).type


@array_function(np.result_type)
def result_type(low: Lowering, *arrays_and_dtypes: Entity) -> Entity:
    types: list[TensorType] = []
    for entity in arrays_and_dtypes:
        if isinstance(entity, Const) and not entity.is_number:
            types.append(ScalarType(np.dtype(entity.value)))
        else:
            types.append(_type_of(low, entity))
    return Const(common_dtype(types))


@array_function(np.promote_types)
def promote_types(low: Lowering, type1: Entity, type2: Entity) -> Entity:
    return Const(np.promote_types(low.static(type1, "a dtype"), low.static(type2, "a dtype")))


@array_function(np.ndim)
def ndim(low: Lowering, a: Entity) -> Entity:
    return Const(_type_of(low, a).ndim)


@array_function(np.shape)
def shape(low: Lowering, a: Entity) -> Entity:
    return Tup(tuple(Scalar(low.builder.dim_value(d)) for d in _type_of(low, a).shape))


@array_function(np.size)
def size(low: Lowering, a: Entity, axis: Entity = NONE) -> Entity:
    kind = _type_of(low, a)
    at = low.static(axis, "the axis of size")
    if at is None:
        return Scalar(low.builder.dim_value(product(kind.shape)))
    if not isinstance(at, int) or not -kind.ndim <= at < kind.ndim:
        raise refuse(f"axis {at} is out of bounds for an array of {kind.ndim} axes", low.loc, kind=InferenceError)
    return Scalar(low.builder.dim_value(kind.shape[at]))


@array_function(np.iscomplexobj)
def iscomplexobj(low: Lowering, x: Entity) -> Entity:
    return Const(_type_of(low, x).dtype.kind == "c")


@array_function(np.isrealobj)
def isrealobj(low: Lowering, x: Entity) -> Entity:
    return Const(_type_of(low, x).dtype.kind != "c")


@array_function(np.isscalar)
def isscalar(low: Lowering, element: Entity) -> Entity:
    if isinstance(element, Const):
        return Const(bool(np.isscalar(element.value)))
    return Const(isinstance(element, Scalar))
