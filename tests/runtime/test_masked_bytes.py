"""Flags that are set in branches of loops: no more bytes are stored than the masks say."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest

import srcgraph as sg
from srcgraph.runtime import masked_bytes
from srcgraph.runtime.masked_bytes import repaired


def all_until_large(x):
    """Elements take their steps together, and each has a flag."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        a = x[i]
        while True:
            if a > 2.5:
                break
            a = a + 0.3
            if a > 1.0:
                a = a * 1.1
        out[i] = a
    return out


def steps(x, done):
    count = 0
    for i in range(len(x)):
        if not done[i]:
            if x[i] > 2.5:
                done[i] = True
            else:
                x[i] = x[i] + 0.3
                if x[i] > 1.0:
                    x[i] = x[i] * 1.1
            count += 1
    return count


def small_numbers(x, y, a, b):
    count = 0
    for i in range(len(x)):
        t, u = x[i], y[i]
        if not b[i]:
            b[i] = 1
            t = t * 1.1 + u
        if t < u and a[i] > 0:
            a[i] = 3
            t = t * 1.1 + u
            count += 1
        if t < u or u < 0.39:
            a[i] = 1
            count += 1
        if a[i] > 0 and t < u:
            a[i] = 3
    return count


@pytest.mark.parametrize("size", [33, 64, 150])
def test_loops_that_end(size):
    x = np.random.default_rng(1).uniform(-1.0, 2.0, size)
    np.testing.assert_array_equal(sg.compile(all_until_large)(x), all_until_large(x))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [8, 39, 64, 130])
def test_flags(size, dtype):
    """Of single precision sixteen are taken together, and the eight that are left."""
    rng = np.random.default_rng(size)
    x, done = rng.uniform(-1.0, 3.0, size).astype(dtype), rng.random(size) < 0.3
    y, also = x.copy(), done.copy()
    compiled = sg.compile(steps)
    for _ in range(12):
        assert compiled(x, done) == steps(y, also)
        np.testing.assert_array_equal(done, also)
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("size", [39, 64, 130])
def test_small_integers(size, dtype):
    rng = np.random.default_rng(size)
    x, y = rng.uniform(-1.0, 1.0, (2, size))
    a, b = (rng.random((2, size)) < 0.5).astype(dtype)
    c, d = a.copy(), b.copy()
    assert sg.compile(small_numbers)(x, y, a, b) == small_numbers(x, y, c, d)
    np.testing.assert_array_equal(a, c)
    np.testing.assert_array_equal(b, d)


MODULE = """
declare void @llvm.masked.store.v8i8.p0(<8 x i8>, ptr, <8 x i1>)
declare <8 x i8> @llvm.masked.load.v8i8.p0(ptr, <8 x i1>, <8 x i8>)

define void @marked(ptr %x, ptr %y, ptr %marks) {
begin:
  %given = load <8 x i8>, ptr %marks, align 1
  %mask = icmp ne <8 x i8> %given, zeroinitializer
  %more = tail call <8 x i8> @llvm.masked.load.v8i8.p0(ptr align 1 %x, <8 x i1> %mask, <8 x i8> splat (i8 7))
  tail call void @llvm.masked.store.v8i8.p0(<8 x i8> splat (i8 1), ptr align 1 %x, <8 x i1> %mask)
  br label %then
then:
  tail call void @llvm.masked.store.v8i8.p0(<8 x i8> %more, ptr nonnull align 1 %y, <8 x i1> %mask)
  ret void
}
"""


def test_what_is_put_there(monkeypatch):
    """It does the same on any processor, if it is asked for."""
    monkeypatch.setattr(masked_bytes, "_has_masks", lambda: True)
    module = repaired(llvm.parse_assembly(MODULE))
    module.verify()
    assert str(module).count("call i32 asm") == 2, "once in each block"
    machine = llvm.Target.from_default_triple().create_target_machine(opt=3)
    with llvm.create_mcjit_compiler(module, machine) as engine:
        engine.finalize_object()
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        marked = kind(engine.get_function_address("marked"))
        for seed in range(20):
            rng = np.random.default_rng(seed)
            x, y = rng.integers(0, 100, (2, 24)).astype(np.uint8)
            marks = rng.integers(0, 2, 8).astype(np.uint8)
            all_marks = np.zeros(24, bool)
            all_marks[:8] = marks
            want = np.where(all_marks, 1, x), np.where(all_marks, x, y)
            marked(x.ctypes.data, y.ctypes.data, marks.ctypes.data)
            np.testing.assert_array_equal(x, want[0])
            np.testing.assert_array_equal(y, want[1])


def test_what_is_declared_is_not_declared_again(monkeypatch):
    monkeypatch.setattr(masked_bytes, "_has_masks", lambda: True)
    there = "declare void @llvm.masked.store.v16i8.p0(<16 x i8>, ptr captures(none), <16 x i1>)\n"
    repaired(llvm.parse_assembly(there + MODULE)).verify()


def test_other_modules_stay_as_they_are(monkeypatch):
    plain = llvm.parse_assembly("define i32 @f(i32 %x) {\n  ret i32 %x\n}\n")
    assert repaired(plain) is plain
    monkeypatch.setattr(masked_bytes, "_has_masks", lambda: False)
    module = llvm.parse_assembly(MODULE)
    assert repaired(module) is module
