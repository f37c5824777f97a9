"""The code of `srcgraph.runtime.calls`: what Python calls in a compiled function's place, as LLVM's instructions.

It is compiled as it stands, without LLVM's passes: they would save six nanoseconds of 65, and take 40 milliseconds. It
reads a list of tests that was written for the types of some arguments, six words each, and calls what numba compiled
for them where all pass, with Python's own tuple of arguments. ``<FAIL>`` and the like stand for numbers: kinds of tests
and results, and where in the objects of Python and NumPy something is. Everything is read of objects whose type was
tested before.

References
----------
LLVM language reference. Python/C API reference manual. NumPy reference, "Python types and C-structures".
"""

from __future__ import annotations

import re

WORDS = 6
"""The words of a test: its kind, and ``a`` to ``e``."""
MOST = 40
"""A function has so many arguments at most."""
TESTS = {
    name: k
    for k, name in enumerate((
        "COUNT", "TYPE", "INTEGER", "ARRAY", "LENGTH", "LONG", "APART",
        "CODE", "FUNCTION", "GLOBAL", "CELL", "ASK", "RUN",
    ))
}  # fmt: skip
RESULTS = {
    name: k
    for k, name in enumerate((
        "ARGUMENT", "FIXED", "SAME", "NUMBER", "DOUBLE", "SINGLE", "COMPLEX", "COMPLEX_SINGLE", "CONVERTED",
    ))
}  # fmt: skip
PLACES = {
    "SLOT": 16, "KIND": 8, "SIZE": 16, "ITEMS": 24, "BYTES": 32,
    "DATA": 16, "AXES": 24, "DIMENSIONS": 32, "STRIDES": 40, "DTYPE": 56, "FLAGS": 64, "ORDER": 26,
}  # fmt: skip
"""Bytes from the start of an object: the slot of a function's tests, the type of any object, the number of a tuple's
items, the items, the bytes of ``bytes``; of arrays; the byte order of a dtype."""


def text() -> str:
    """The module."""
    numbers = {**TESTS, **RESULTS, **PLACES, "MOST": MOST, "STEP": 8 * WORDS}
    return re.sub(r"<(\w+)>", lambda found: str(numbers[found[1]]), CODE)


CODE = """
@srcgraph_calls_builtins = external global ptr
@srcgraph_calls_longer = external global ptr
@srcgraph_calls_profile = external global i64

declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare void @PyErr_SetObject(ptr, ptr)
declare i32 @PyException_SetTraceback(ptr, ptr)
declare ptr @PyThreadState_Get()
declare i64 @PyDict_Size(ptr)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyCell_Get(ptr)
declare ptr @PyFunction_GetCode(ptr)
declare ptr @PyFunction_GetDefaults(ptr)
declare ptr @PyFunction_GetKwDefaults(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare i64 @PyLong_AsUnsignedLongLongMask(ptr)
declare double @PyFloat_AsDouble(ptr)
declare double @PyComplex_RealAsDouble(ptr)
declare double @PyComplex_ImagAsDouble(ptr)
declare ptr @PyTuple_New(i64)
declare ptr @PyMethod_New(ptr, ptr)
declare ptr @PyObject_Call(ptr, ptr, ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare ptr @srcgraph_calls_scalar(ptr, ptr, ptr)
declare {i64, i1} @llvm.ssub.with.overflow.i64(i64, i64)

; The item of a tuple.
define internal ptr @item(ptr %tuple, i64 %k) alwaysinline {
  %items = getelementptr i8, ptr %tuple, i64 <ITEMS>
  %place = getelementptr ptr, ptr %items, i64 %k
  %item = load ptr, ptr %place
  ret ptr %item
}

define internal ptr @kind(ptr %object) alwaysinline {
  %place = getelementptr i8, ptr %object, i64 <KIND>
  %kind = load ptr, ptr %place
  ret ptr %kind
}

; The length of an array along an axis, or an integer that was given.
define internal i64 @size(ptr %args, ptr %values, i64 %k, i64 %axis) alwaysinline {
  %given = icmp slt i64 %axis, 0
  br i1 %given, label %number, label %array
number:
  %value_at = getelementptr i64, ptr %values, i64 %k
  %value = load i64, ptr %value_at
  ret i64 %value
array:
  %object = call ptr @item(ptr %args, i64 %k)
  %lengths_at = getelementptr i8, ptr %object, i64 <DIMENSIONS>
  %lengths = load ptr, ptr %lengths_at
  %length_at = getelementptr i64, ptr %lengths, i64 %axis
  %length = load i64, ptr %length_at
  ret i64 %length
}

; Where the memory of an array begins and ends; the same twice if it has no elements.
define internal {i64, i64} @extent(ptr %array, i64 %size) {
  %data_at = getelementptr i8, ptr %array, i64 <DATA>
  %data = load i64, ptr %data_at
  %axes_at = getelementptr i8, ptr %array, i64 <AXES>
  %axes_short = load i32, ptr %axes_at
  %axes = sext i32 %axes_short to i64
  %lengths_at = getelementptr i8, ptr %array, i64 <DIMENSIONS>
  %lengths = load ptr, ptr %lengths_at
  %strides_at = getelementptr i8, ptr %array, i64 <STRIDES>
  %strides = load ptr, ptr %strides_at
  br label %next
next:
  %k = phi i64 [0, %0], [%k_after, %spread]
  %low = phi i64 [%data, %0], [%low_after, %spread]
  %high = phi i64 [%data, %0], [%high_after, %spread]
  %more = icmp slt i64 %k, %axes
  br i1 %more, label %axis, label %found
axis:
  %length_at = getelementptr i64, ptr %lengths, i64 %k
  %length = load i64, ptr %length_at
  %none = icmp eq i64 %length, 0
  br i1 %none, label %empty, label %spread
spread:
  %stride_at = getelementptr i64, ptr %strides, i64 %k
  %stride = load i64, ptr %stride_at
  %steps = sub i64 %length, 1
  %way = mul i64 %steps, %stride
  %down = icmp slt i64 %way, 0
  %below = select i1 %down, i64 %way, i64 0
  %above = select i1 %down, i64 0, i64 %way
  %low_after = add i64 %low, %below
  %high_after = add i64 %high, %above
  %k_after = add i64 %k, 1
  br label %next
found:
  %end = add i64 %high, %size
  %from = insertvalue {i64, i64} poison, i64 %low, 0
  %both = insertvalue {i64, i64} %from, i64 %end, 1
  ret {i64, i64} %both
empty:
  ret {i64, i64} zeroinitializer
}

define internal i1 @apart(ptr %x, i64 %x_size, ptr %y, i64 %y_size) {
  %x_extent = call {i64, i64} @extent(ptr %x, i64 %x_size)
  %y_extent = call {i64, i64} @extent(ptr %y, i64 %y_size)
  %x_low = extractvalue {i64, i64} %x_extent, 0
  %x_high = extractvalue {i64, i64} %x_extent, 1
  %y_low = extractvalue {i64, i64} %y_extent, 0
  %y_high = extractvalue {i64, i64} %y_extent, 1
  %before = icmp ule i64 %x_high, %y_low
  %behind = icmp ule i64 %y_high, %x_low
  %either = or i1 %before, %behind
  ret i1 %either
}

; A part of what a call returns, of what numba's function returned: a new reference, or null.
define internal ptr @part(ptr %out, ptr %args, ptr %at) {
  %space = alloca [2 x double]
  %what = load i64, ptr %at
  %place_at = getelementptr i64, ptr %at, i64 1
  %place = load i64, ptr %place_at
  %type_at = getelementptr i64, ptr %at, i64 2
  %type = load ptr, ptr %type_at
  switch i64 %what, label %output [
    i64 <ARGUMENT>, label %argument
    i64 <FIXED>, label %fixed
  ]
argument:
  %given = call ptr @item(ptr %args, i64 %place)
  call void @Py_IncRef(ptr %given)
  ret ptr %given
fixed:
  call void @Py_IncRef(ptr %type)
  ret ptr %type
output:
  %whole = icmp slt i64 %place, 0
  br i1 %whole, label %number, label %one
one:
  %item = call ptr @item(ptr %out, i64 %place)
  br label %number
number:
  %x = phi ptr [%out, %output], [%item, %one]
  switch i64 %what, label %converted [
    i64 <SAME>, label %same
    i64 <NUMBER>, label %integer
    i64 <DOUBLE>, label %double
    i64 <SINGLE>, label %single
    i64 <COMPLEX>, label %complex
    i64 <COMPLEX_SINGLE>, label %complex_single
  ]
same:
  call void @Py_IncRef(ptr %x)
  ret ptr %x
converted:
  %made = call ptr @PyObject_CallOneArg(ptr %type, ptr %x)
  ret ptr %made
integer:
  %bits = call i64 @PyLong_AsUnsignedLongLongMask(ptr %x)
  store i64 %bits, ptr %space
  br label %make
double:
  %float = call double @PyFloat_AsDouble(ptr %x)
  store double %float, ptr %space
  br label %make
single:
  %long = call double @PyFloat_AsDouble(ptr %x)
  %short = fptrunc double %long to float
  store float %short, ptr %space
  br label %make
complex:
  %real = call double @PyComplex_RealAsDouble(ptr %x)
  %imag = call double @PyComplex_ImagAsDouble(ptr %x)
  store double %real, ptr %space
  %imag_at = getelementptr double, ptr %space, i64 1
  store double %imag, ptr %imag_at
  br label %make
complex_single:
  %long_real = call double @PyComplex_RealAsDouble(ptr %x)
  %long_imag = call double @PyComplex_ImagAsDouble(ptr %x)
  %short_real = fptrunc double %long_real to float
  %short_imag = fptrunc double %long_imag to float
  store float %short_real, ptr %space
  %short_imag_at = getelementptr float, ptr %space, i64 1
  store float %short_imag, ptr %short_imag_at
  br label %make
make:
  %error = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %scalar, label %failed
scalar:
  %new = call ptr @srcgraph_calls_scalar(ptr %space, ptr %type, ptr null)
  ret ptr %new
failed:
  ret ptr null
}

; What a call returns: one part, or a tuple of several.
define internal ptr @result(ptr %out, ptr %args, ptr %parts, i64 %count, i64 %several) {
  %alone = icmp eq i64 %several, 0
  br i1 %alone, label %one, label %many
one:
  %whole = call ptr @part(ptr %out, ptr %args, ptr %parts)
  ret ptr %whole
many:
  %tuple = call ptr @PyTuple_New(i64 %count)
  %none = icmp eq ptr %tuple, null
  br i1 %none, label %failed, label %next
next:
  %k = phi i64 [0, %many], [%k_after, %put]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %make, label %done
make:
  %from = mul i64 %k, <STEP>
  %at = getelementptr i8, ptr %parts, i64 %from
  %part = call ptr @part(ptr %out, ptr %args, ptr %at)
  %missing = icmp eq ptr %part, null
  br i1 %missing, label %drop, label %put
put:
  %items = getelementptr i8, ptr %tuple, i64 <ITEMS>
  %place = getelementptr ptr, ptr %items, i64 %k
  store ptr %part, ptr %place
  %k_after = add i64 %k, 1
  br label %next
drop:
  call void @Py_DecRef(ptr %tuple)
  br label %failed
done:
  ret ptr %tuple
failed:
  ret ptr null
}

; Raise in place of what was raised what Python makes of it.
define internal void @raise(ptr %handler) {
  %kind = alloca ptr
  %error = alloca ptr
  %trace = alloca ptr
  call void @PyErr_Fetch(ptr %kind, ptr %error, ptr %trace)
  call void @PyErr_NormalizeException(ptr %kind, ptr %error, ptr %trace)
  %met = load ptr, ptr %error
  %way = load ptr, ptr %trace
  %untraced = icmp eq ptr %way, null
  br i1 %untraced, label %ask, label %trace_it
trace_it:
  %set = call i32 @PyException_SetTraceback(ptr %met, ptr %way)
  call void @Py_DecRef(ptr %way)
  br label %ask
ask:
  %failure = call ptr @PyObject_CallOneArg(ptr %handler, ptr %met)
  %none = icmp eq ptr %failure, null
  br i1 %none, label %done, label %known
known:
  %class = call ptr @kind(ptr %failure)
  call void @PyErr_SetObject(ptr %class, ptr %failure)
  call void @Py_DecRef(ptr %failure)
  br label %done
done:
  call void @Py_DecRef(ptr %met)
  %met_kind = load ptr, ptr %kind
  call void @Py_DecRef(ptr %met_kind)
  ret void
}

define ptr @srcgraph_calls_enter(ptr %self, ptr %args, ptr %named) {
  %values = alloca [<MOST> x i64]
  %overflow = alloca i32
  %slot = getelementptr i8, ptr %self, i64 <SLOT>
  %known = load ptr, ptr %slot
  %unknown = icmp eq ptr %known, null
  br i1 %unknown, label %longer, label %look
look:
  %unnamed = icmp eq ptr %named, null
  br i1 %unnamed, label %hold, label %names
names:
  %names_count = call i64 @PyDict_Size(ptr %named)
  %no_names = icmp eq i64 %names_count, 0
  br i1 %no_names, label %hold, label %longer
hold: ; others may put another list in its place meanwhile
  call void @Py_IncRef(ptr %known)
  %lists_at = getelementptr i8, ptr %known, i64 <SIZE>
  %lists = load i64, ptr %lists_at
  br label %next
next:
  %k = phi i64 [0, %hold], [%k_after, %fail]
  %more = icmp slt i64 %k, %lists
  br i1 %more, label %open, label %none
open:
  %list = call ptr @item(ptr %known, i64 %k)
  %bytes = call ptr @item(ptr %list, i64 0)
  %first = getelementptr i8, ptr %bytes, i64 <BYTES>
  br label %test
fail:
  %k_after = add i64 %k, 1
  br label %next
none:
  call void @Py_DecRef(ptr %known)
  br label %longer
pass:
  br label %test
test:
  %at = phi ptr [%first, %open], [%after, %pass]
  %after = getelementptr i8, ptr %at, i64 <STEP>
  %what = load i64, ptr %at
  %a_at = getelementptr i64, ptr %at, i64 1
  %a = load i64, ptr %a_at
  %b_at = getelementptr i64, ptr %at, i64 2
  %b = load i64, ptr %b_at
  %c_at = getelementptr i64, ptr %at, i64 3
  %c = load i64, ptr %c_at
  %d_at = getelementptr i64, ptr %at, i64 4
  %d = load i64, ptr %d_at
  %e_at = getelementptr i64, ptr %at, i64 5
  %e = load i64, ptr %e_at
  %a_object = inttoptr i64 %a to ptr
  %b_object = inttoptr i64 %b to ptr
  %c_object = inttoptr i64 %c to ptr
  %d_object = inttoptr i64 %d to ptr
  switch i64 %what, label %fail [
    i64 <COUNT>, label %count
    i64 <TYPE>, label %type
    i64 <INTEGER>, label %integer
    i64 <ARRAY>, label %array
    i64 <LENGTH>, label %length
    i64 <LONG>, label %long
    i64 <APART>, label %apart
    i64 <CODE>, label %code
    i64 <FUNCTION>, label %function
    i64 <GLOBAL>, label %global
    i64 <CELL>, label %cell
    i64 <ASK>, label %ask
    i64 <RUN>, label %run
  ]

count: ; there are `a` arguments
  %given_at = getelementptr i8, ptr %args, i64 <SIZE>
  %given = load i64, ptr %given_at
  %as_many = icmp eq i64 %given, %a
  br i1 %as_many, label %pass, label %fail

type: ; argument `a` is of type `b`
  %typed = call ptr @item(ptr %args, i64 %a)
  %its_type = call ptr @kind(ptr %typed)
  %of_type = icmp eq ptr %its_type, %b_object
  br i1 %of_type, label %pass, label %fail

integer: ; argument `a` is of type `b`, which is int, and has 64 bits
  %whole = call ptr @item(ptr %args, i64 %a)
  %whole_type = call ptr @kind(ptr %whole)
  %of_integers = icmp eq ptr %whole_type, %b_object
  br i1 %of_integers, label %measure, label %fail
measure:
  %value = call i64 @PyLong_AsLongLongAndOverflow(ptr %whole, ptr %overflow)
  %value_at = getelementptr i64, ptr %values, i64 %a
  store i64 %value, ptr %value_at
  %over = load i32, ptr %overflow
  %short = icmp eq i32 %over, 0
  br i1 %short, label %pass, label %fail

array: ; argument `a` is of type `b`, numpy.ndarray, its dtype is like `c`, it has `d` axes, and `e` are those of its
       ; flags that `e` >> 32 are
  %object = call ptr @item(ptr %args, i64 %a)
  %object_type = call ptr @kind(ptr %object)
  %of_arrays = icmp eq ptr %object_type, %b_object
  br i1 %of_arrays, label %layout, label %fail
layout:
  %axes_at = getelementptr i8, ptr %object, i64 <AXES>
  %axes = load i32, ptr %axes_at
  %flags_at = getelementptr i8, ptr %object, i64 <FLAGS>
  %flags = load i32, ptr %flags_at
  %dtype_at = getelementptr i8, ptr %object, i64 <DTYPE>
  %dtype = load ptr, ptr %dtype_at
  %axes_wanted = trunc i64 %d to i32
  %right_axes = icmp eq i32 %axes, %axes_wanted
  %mask_long = lshr i64 %e, 32
  %mask = trunc i64 %mask_long to i32
  %flags_wanted = trunc i64 %e to i32
  %flags_read = and i32 %flags, %mask
  %right_flags = icmp eq i32 %flags_read, %flags_wanted
  %right = and i1 %right_axes, %right_flags
  br i1 %right, label %dtypes, label %fail
dtypes:
  %very_dtype = icmp eq ptr %dtype, %c_object
  br i1 %very_dtype, label %pass, label %like
like: ; another of the same class, such as that of an array that was pickled
  %class = call ptr @kind(ptr %dtype)
  %class_wanted = call ptr @kind(ptr %c_object)
  %order_at = getelementptr i8, ptr %dtype, i64 <ORDER>
  %order = load i8, ptr %order_at
  %order_wanted_at = getelementptr i8, ptr %c_object, i64 <ORDER>
  %order_wanted = load i8, ptr %order_wanted_at
  %of_class = icmp eq ptr %class, %class_wanted
  %in_order = icmp eq i8 %order, %order_wanted
  %alike = and i1 %of_class, %in_order
  br i1 %alike, label %pass, label %fail

length: ; size (`c`, `d`) is `e` more than size (`a`, `b`), or than nothing if `a` < 0
  %longer_size = call i64 @size(ptr %args, ptr %values, i64 %c, i64 %d)
  %nothing = icmp slt i64 %a, 0
  br i1 %nothing, label %compare, label %other
other:
  %shorter_size = call i64 @size(ptr %args, ptr %values, i64 %a, i64 %b)
  br label %compare
compare:
  %less = phi i64 [0, %length], [%shorter_size, %other]
  %difference = call {i64, i1} @llvm.ssub.with.overflow.i64(i64 %longer_size, i64 %less)
  %found = extractvalue {i64, i1} %difference, 0
  %wrapped = extractvalue {i64, i1} %difference, 1
  %unlike = icmp ne i64 %found, %e
  %not_so = or i1 %unlike, %wrapped
  br i1 %not_so, label %fail, label %pass

long: ; size (`a`, `b`) is not 1
  %one = call i64 @size(ptr %args, ptr %values, i64 %a, i64 %b)
  %stretches = icmp eq i64 %one, 1
  br i1 %stretches, label %fail, label %pass

apart: ; arrays `a` and `c`, of elements of `b` and `d` bytes, are apart in memory
  %x = call ptr @item(ptr %args, i64 %a)
  %y = call ptr @item(ptr %args, i64 %c)
  %not_shared = call i1 @apart(ptr %x, i64 %b, ptr %y, i64 %d)
  br i1 %not_shared, label %pass, label %fail

code: ; the code of the function `a` is `b`
  %code_now = call ptr @PyFunction_GetCode(ptr %a_object)
  %same_code = icmp eq ptr %code_now, %b_object
  br i1 %same_code, label %pass, label %fail

function: ; so it is, and its defaults are `c`; it has none by name
  %its_code = call ptr @PyFunction_GetCode(ptr %a_object)
  %its_defaults = call ptr @PyFunction_GetDefaults(ptr %a_object)
  %its_names = call ptr @PyFunction_GetKwDefaults(ptr %a_object)
  %as_coded = icmp eq ptr %its_code, %b_object
  %as_given = icmp eq ptr %its_defaults, %c_object
  %without = icmp eq ptr %its_names, null
  %both = and i1 %as_coded, %as_given
  %all = and i1 %both, %without
  br i1 %all, label %pass, label %fail

global: ; `b` is `c` in the namespace `a`, and its code `d`, unless that is null
  %own = call ptr @PyDict_GetItemWithError(ptr %a_object, ptr %b_object)
  %not_own = icmp eq ptr %own, null
  br i1 %not_own, label %builtin, label %meant
builtin:
  %odd = call ptr @PyErr_Occurred()
  %looked = icmp eq ptr %odd, null
  br i1 %looked, label %builtins, label %unclear
builtins:
  %builtin_names = load ptr, ptr @srcgraph_calls_builtins
  %of_all = call ptr @PyDict_GetItemWithError(ptr %builtin_names, ptr %b_object)
  %not_of_all = icmp eq ptr %of_all, null
  br i1 %not_of_all, label %unclear, label %meant
unclear:
  call void @PyErr_Clear()
  br label %fail
meant:
  %means = phi ptr [%own, %global], [%of_all, %builtins]
  %as_before = icmp eq ptr %means, %c_object
  br i1 %as_before, label %coded, label %fail
coded:
  %codeless = icmp eq i64 %d, 0
  br i1 %codeless, label %pass, label %look_at_code
look_at_code:
  %global_code = call ptr @PyFunction_GetCode(ptr %c_object)
  %global_same = icmp eq ptr %global_code, %d_object
  br i1 %global_same, label %pass, label %fail

cell: ; the cell `a` has `b`, whose code is `c`, unless that is null
  %content = call ptr @PyCell_Get(ptr %a_object)
  %unset = icmp eq ptr %content, null
  br i1 %unset, label %fail, label %content_set
content_set:
  call void @Py_DecRef(ptr %content)
  %kept = icmp eq ptr %content, %b_object
  br i1 %kept, label %content_coded, label %fail
content_coded:
  %content_codeless = icmp eq i64 %c, 0
  br i1 %content_codeless, label %pass, label %content_code
content_code:
  %cell_code = call ptr @PyFunction_GetCode(ptr %b_object)
  %cell_same = icmp eq ptr %cell_code, %c_object
  br i1 %cell_same, label %pass, label %fail

ask: ; calling `a` gives `b`
  %answer = call ptr @PyObject_CallNoArgs(ptr %a_object)
  %no_answer = icmp eq ptr %answer, null
  br i1 %no_answer, label %failed, label %answered
answered:
  call void @Py_DecRef(ptr %answer)
  %yes = icmp eq ptr %answer, %b_object
  br i1 %yes, label %pass, label %fail

run: ; call `a` of `b`; `c` takes what it raises; `d` parts of a result follow, which is a tuple if `e` is not 0
  %thread = call ptr @PyThreadState_Get()
  %profile_place = load i64, ptr @srcgraph_calls_profile
  %profile_at = getelementptr i8, ptr %thread, i64 %profile_place
  %profile = load ptr, ptr %profile_at
  %unwatched = icmp eq ptr %profile, null
  br i1 %unwatched, label %call, label %show
show: ; numba's dispatcher tells profilers
  %dispatcher = call ptr @item(ptr %list, i64 1)
  %shown = call ptr @PyObject_Call(ptr %dispatcher, ptr %args, ptr null)
  br label %called
call:
  %quickly = call ptr %a_object(ptr %b_object, ptr %args, ptr null)
  br label %called
called:
  %out = phi ptr [%shown, %show], [%quickly, %call]
  %raised = call ptr @PyErr_Occurred()
  %no_error = icmp eq ptr %raised, null
  %no_result = icmp eq ptr %out, null
  br i1 %no_result, label %raise, label %look_at_errors
look_at_errors: ; such as an interrupt while numba made objects
  br i1 %no_error, label %arrange, label %drop
drop:
  call void @Py_DecRef(ptr %out)
  br label %raise
arrange:
  %as_it_is = icmp eq i64 %d, 0
  br i1 %as_it_is, label %return, label %make
make:
  %made = call ptr @result(ptr %out, ptr %args, ptr %after, i64 %d, i64 %e)
  call void @Py_DecRef(ptr %out)
  br label %return
return:
  %final = phi ptr [%out, %arrange], [%made, %make]
  call void @Py_DecRef(ptr %known)
  ret ptr %final
raise:
  call void @raise(ptr %c_object)
  br label %failed
failed:
  call void @Py_DecRef(ptr %known)
  ret ptr null

longer:
  %way = load ptr, ptr @srcgraph_calls_longer
  %method = call ptr @PyMethod_New(ptr %way, ptr %self)
  %no_method = icmp eq ptr %method, null
  br i1 %no_method, label %nowhere, label %go
go:
  %result = call ptr @PyObject_Call(ptr %method, ptr %args, ptr %named)
  call void @Py_DecRef(ptr %method)
  ret ptr %result
nowhere:
  ret ptr null
}
"""

DECLARED = re.findall(r"^declare [^@]*@(Py\w+)", CODE, re.MULTILINE)
"""The functions of Python's that it calls."""
