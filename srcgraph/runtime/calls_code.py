"""The code of `srcgraph.runtime.calls`: what Python calls in a compiled function's place, as LLVM's instructions.

It reads a list of tests that was written for the types of some arguments, six words each, and calls what numba compiled
for them where all pass: with Python's own tuple of arguments, or with another that has those given by name or left out,
too, and what is read from outside. ``<FAIL>`` and the like stand for numbers: kinds of tests and results, and where in
the objects of Python and NumPy something is. Everything is read of objects whose type was tested before.

It is compiled as it stands, without LLVM's passes: they would save 6 nanoseconds of 65, and take 40 milliseconds.

References
----------
LLVM language reference. Python/C API reference manual. NumPy reference, "Python types and C-structures".
"""

from __future__ import annotations

import re

from srcgraph.runtime.calls_returned import RESULTS, RETURNED

WORDS = 6
"""The words of a test: its kind, and ``a`` to ``e``."""
MOST = 40
"""What numba compiled has so many parameters at most."""
TESTS = {
    name: k
    for k, name in enumerate((
        "COUNT", "IS", "IS_NAMED", "FILL", "PLACED", "NAMED", "KNOWN", "OUTSIDE", "INSIDE",
        "TYPE", "INTEGER", "ARRAY", "TWICE", "LENGTH", "LONG", "SHORT", "LEAST", "APART",
        "CODE", "FUNCTION", "GLOBAL", "CELL", "ASK", "DEEP", "RUN",
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
    numbers = {**TESTS, **RESULTS, **PLACES, "MOST": MOST, "STEP": 8 * WORDS, "TWO_STEPS": 16 * WORDS, "WORDS": WORDS}
    return re.sub(r"<(\w+)>", lambda found: str(numbers[found[1]]), CODE + RETURNED)


CODE = """
@srcgraph_calls_builtins = external global ptr
@srcgraph_calls_longer = external global ptr
@srcgraph_calls_profile = external global i64

declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare i32 @PyErr_ExceptionMatches(ptr)
declare ptr @PyThreadState_Get()
declare i64 @PyDict_Size(ptr)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyCell_Get(ptr)
declare ptr @PyFunction_GetCode(ptr)
declare ptr @PyFunction_GetDefaults(ptr)
declare ptr @PyFunction_GetKwDefaults(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyTuple_New(i64)
declare ptr @PyMethod_New(ptr, ptr)
declare ptr @PyObject_Call(ptr, ptr, ptr)
declare ptr @PyObject_CallNoArgs(ptr)
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

; Let go of what a call holds.
define internal void @release(ptr %known, ptr %now, ptr %args) alwaysinline {
  call void @Py_DecRef(ptr %known)
  %given = icmp eq ptr %now, %args
  br i1 %given, label %done, label %drop
drop:
  call void @Py_DecRef(ptr %now)
  ret void
done:
  ret void
}

define ptr @srcgraph_calls_enter(ptr %self, ptr %args, ptr %named) {
  %values = alloca [<MOST> x i64]
  %overflow = alloca i32
  %current = alloca ptr
  %deep = alloca ptr
  %too_deep = alloca ptr
  store ptr %args, ptr %current
  %slot = getelementptr i8, ptr %self, i64 <SLOT>
  %known = load ptr, ptr %slot
  %unknown = icmp eq ptr %known, null
  br i1 %unknown, label %longer, label %look
look:
  %unnamed = icmp eq ptr %named, null
  br i1 %unnamed, label %hold, label %names
names:
  %some_names = call i64 @PyDict_Size(ptr %named)
  br label %hold
hold: ; others may put another list in its place meanwhile
  %names_given = phi i64 [0, %look], [%some_names, %names]
  call void @Py_IncRef(ptr %known)
  %lists_at = getelementptr i8, ptr %known, i64 <SIZE>
  %lists = load i64, ptr %lists_at
  br label %next
next:
  %k = phi i64 [0, %hold], [%k_after, %dropped]
  %more = icmp slt i64 %k, %lists
  br i1 %more, label %open, label %none
open:
  store ptr null, ptr %deep
  %list = call ptr @item(ptr %known, i64 %k)
  %bytes = call ptr @item(ptr %list, i64 0)
  %first = getelementptr i8, ptr %bytes, i64 <BYTES>
  br label %test
fail:
  %left = load ptr, ptr %current
  %left_given = icmp eq ptr %left, %args
  br i1 %left_given, label %dropped, label %drop_items
drop_items:
  call void @Py_DecRef(ptr %left)
  store ptr %args, ptr %current
  br label %dropped
dropped:
  %k_after = add i64 %k, 1
  br label %next
none:
  call void @Py_DecRef(ptr %known)
  br label %longer
pass:
  br label %test
test:
  %at = phi ptr [%first, %open], [%after, %pass]
  %now = load ptr, ptr %current
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
    i64 <IS>, label %is
    i64 <IS_NAMED>, label %is_named
    i64 <FILL>, label %fill
    i64 <PLACED>, label %placed
    i64 <NAMED>, label %named_item
    i64 <KNOWN>, label %known_item
    i64 <OUTSIDE>, label %outside
    i64 <INSIDE>, label %inside
    i64 <TYPE>, label %type
    i64 <INTEGER>, label %integer
    i64 <ARRAY>, label %array
    i64 <TWICE>, label %twice
    i64 <LENGTH>, label %length
    i64 <LONG>, label %long
    i64 <SHORT>, label %limited
    i64 <LEAST>, label %least
    i64 <APART>, label %apart
    i64 <CODE>, label %code
    i64 <FUNCTION>, label %function
    i64 <GLOBAL>, label %global
    i64 <CELL>, label %cell
    i64 <ASK>, label %ask
    i64 <DEEP>, label %deepens
    i64 <RUN>, label %run
  ]

count: ; `a` arguments are given by place, and `b` by name
  %given_at = getelementptr i8, ptr %args, i64 <SIZE>
  %given = load i64, ptr %given_at
  %as_many = icmp eq i64 %given, %a
  %as_many_names = icmp eq i64 %names_given, %b
  %as_given_before = and i1 %as_many, %as_many_names
  br i1 %as_given_before, label %pass, label %fail

is: ; the one at place `a` is `b`
  %constant = call ptr @item(ptr %args, i64 %a)
  %is_same = icmp eq ptr %constant, %b_object
  br i1 %is_same, label %pass, label %fail

is_named: ; the one of name `a` is `b`
  %constant_named = call ptr @PyDict_GetItemWithError(ptr %named, ptr %a_object)
  %is_same_named = icmp eq ptr %constant_named, %b_object
  br i1 %is_same_named, label %pass, label %unclear

fill: ; what follows is not of the arguments but of `a` items
  %items = call ptr @PyTuple_New(i64 %a)
  %no_items = icmp eq ptr %items, null
  br i1 %no_items, label %failed, label %use_items
use_items:
  store ptr %items, ptr %current
  br label %pass

placed: ; item `a` is the argument at place `b`
  %item_placed = call ptr @item(ptr %args, i64 %b)
  br label %take
named_item: ; item `a` is the argument of name `b`
  %item_named = call ptr @PyDict_GetItemWithError(ptr %named, ptr %b_object)
  br label %take
known_item: ; item `a` is `b`
  br label %take
outside: ; item `a` is what has the name `c` in the namespace `b`
  %item_outside = call ptr @PyDict_GetItemWithError(ptr %b_object, ptr %c_object)
  br label %take
take:
  %taken = phi ptr [%item_placed, %placed], [%item_named, %named_item], [%b_object, %known_item],
    [%item_outside, %outside]
  %untaken = icmp eq ptr %taken, null
  br i1 %untaken, label %unclear, label %take_it
take_it:
  call void @Py_IncRef(ptr %taken)
  br label %put
inside: ; item `a` is what is in the cell `b`
  %item_inside = call ptr @PyCell_Get(ptr %b_object)
  %cell_empty = icmp eq ptr %item_inside, null
  br i1 %cell_empty, label %fail, label %put
put:
  %item = phi ptr [%taken, %take_it], [%item_inside, %inside]
  %now_items = getelementptr i8, ptr %now, i64 <ITEMS>
  %place = getelementptr ptr, ptr %now_items, i64 %a
  store ptr %item, ptr %place
  br label %pass

type: ; item `a` is of type `b`
  %typed = call ptr @item(ptr %now, i64 %a)
  %its_type = call ptr @kind(ptr %typed)
  %of_type = icmp eq ptr %its_type, %b_object
  br i1 %of_type, label %pass, label %fail

integer: ; item `a` is of type `b`, which is int, and has 64 bits
  %whole = call ptr @item(ptr %now, i64 %a)
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

array: ; item `a` is of type `b`, numpy.ndarray, its dtype is like `c`, it has `d` axes, and `e` are those of its
       ; flags that `e` >> 32 are
  %object = call ptr @item(ptr %now, i64 %a)
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

twice: ; items `a` and `b` are one object
  %once = call ptr @item(ptr %now, i64 %a)
  %again = call ptr @item(ptr %now, i64 %b)
  %one_object = icmp eq ptr %once, %again
  br i1 %one_object, label %pass, label %fail

length: ; size (`c`, `d`) is `e` more than size (`a`, `b`), or than nothing if `a` < 0
  %longer_size = call i64 @size(ptr %now, ptr %values, i64 %c, i64 %d)
  %nothing = icmp slt i64 %a, 0
  br i1 %nothing, label %compare, label %other
other:
  %shorter_size = call i64 @size(ptr %now, ptr %values, i64 %a, i64 %b)
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
  %one = call i64 @size(ptr %now, ptr %values, i64 %a, i64 %b)
  %stretches = icmp eq i64 %one, 1
  br i1 %stretches, label %fail, label %pass

limited: ; size (`a`, `b`) is at most `c`
  %counted = call i64 @size(ptr %now, ptr %values, i64 %a, i64 %b)
  %not_many = icmp sle i64 %counted, %c
  br i1 %not_many, label %pass, label %fail

least: ; size (`a`, `b`) is at least `c`
  %counted_up = call i64 @size(ptr %now, ptr %values, i64 %a, i64 %b)
  %not_few = icmp sge i64 %counted_up, %c
  br i1 %not_few, label %pass, label %fail

apart: ; arrays `a` and `c`, of elements of `b` and `d` bytes, are apart in memory
  %x = call ptr @item(ptr %now, i64 %a)
  %y = call ptr @item(ptr %now, i64 %c)
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

deepens: ; where what is called raises `b`, it is tried no more: `a` says so, and the call takes the longer way
  store ptr %a_object, ptr %deep
  store ptr %b_object, ptr %too_deep
  br label %pass

run: ; call `a` of `b`; `c` takes what it raises; `d` parts of a result follow, which is a tuple if `e` is not 0
  %thread = call ptr @PyThreadState_Get()
  %profile_place = load i64, ptr @srcgraph_calls_profile
  %profile_at = getelementptr i8, ptr %thread, i64 %profile_place
  %profile = load ptr, ptr %profile_at
  %unwatched = icmp eq ptr %profile, null
  br i1 %unwatched, label %call, label %show
show: ; numba's dispatcher tells profilers
  %dispatcher = call ptr @item(ptr %list, i64 1)
  %shown = call ptr @PyObject_Call(ptr %dispatcher, ptr %now, ptr null)
  br label %called
call:
  %quickly = call ptr %a_object(ptr %b_object, ptr %now, ptr null)
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
  %made = call ptr @result(ptr %out, ptr %now, ptr %after, i64 %d, i64 %e)
  call void @Py_DecRef(ptr %out)
  br label %return
return:
  %final = phi ptr [%out, %arrange], [%made, %make]
  call void @release(ptr %known, ptr %now, ptr %args)
  ret ptr %final
raise:
  %give_up = load ptr, ptr %deep
  %final_error = icmp eq ptr %give_up, null
  br i1 %final_error, label %raise_it, label %look_how_deep
look_how_deep:
  %expected = load ptr, ptr %too_deep
  %met = call i32 @PyErr_ExceptionMatches(ptr %expected)
  %another = icmp eq i32 %met, 0
  br i1 %another, label %raise_it, label %give_it_up
give_it_up:
  call void @PyErr_Clear()
  %given_up = call ptr @PyObject_CallNoArgs(ptr %give_up)
  call void @release(ptr %known, ptr %now, ptr %args)
  %unable = icmp eq ptr %given_up, null
  br i1 %unable, label %nowhere, label %try_again
try_again:
  call void @Py_DecRef(ptr %given_up)
  br label %longer
raise_it:
  call void @raise(ptr %c_object)
  br label %failed
failed:
  call void @release(ptr %known, ptr %now, ptr %args)
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

DECLARED = re.findall(r"^declare [^@]*@(Py\w+)", CODE + RETURNED, re.MULTILINE)
"""The functions of Python's that it calls."""
