"""The part of `srcgraph.runtime.calls_code` that makes what a call returns or raises, of what numba's function gave."""

from __future__ import annotations

RESULTS = {
    name: k
    for k, name in enumerate((
        "ARGUMENT", "FIXED", "SAME", "NUMBER", "DOUBLE", "SINGLE", "COMPLEX", "COMPLEX_SINGLE", "CONVERTED",
        "TUPLE", "EITHER", "NO_ARGUMENT",
    ))
}  # fmt: skip
"""Kinds of parts of a result: an argument, something known, what numba made, numbers of NumPy's made of that, a tuple
of the parts that follow, one of the two that follow, and an array that is not to be an argument's."""


RETURNED = """
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare void @PyErr_SetObject(ptr, ptr)
declare i32 @PyException_SetTraceback(ptr, ptr)
declare i64 @PyLong_AsUnsignedLongLongMask(ptr)
declare double @PyFloat_AsDouble(ptr)
declare double @PyComplex_RealAsDouble(ptr)
declare double @PyComplex_ImagAsDouble(ptr)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare i32 @PyObject_IsTrue(ptr)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare ptr @srcgraph_calls_scalar(ptr, ptr, ptr)

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
    i64 <TUPLE>, label %tuple
    i64 <EITHER>, label %either
    i64 <NO_ARGUMENT>, label %no_argument
  ]
argument:
  %given = call ptr @item(ptr %args, i64 %place)
  call void @Py_IncRef(ptr %given)
  ret ptr %given
fixed:
  call void @Py_IncRef(ptr %type)
  ret ptr %type
tuple:
  %inner = getelementptr i8, ptr %at, i64 <STEP>
  %built = call ptr @tuple(ptr %out, ptr %args, ptr %inner, i64 %place)
  ret ptr %built
either:
  %only = icmp slt i64 %place, 0
  br i1 %only, label %tested, label %test_of_several
test_of_several:
  %one_test = call ptr @item(ptr %out, i64 %place)
  br label %tested
tested:
  %test = phi ptr [%out, %either], [%one_test, %test_of_several]
  %truth = call i32 @PyObject_IsTrue(ptr %test)
  %holds = icmp sgt i32 %truth, 0
  %steps = select i1 %holds, i64 <STEP>, i64 <TWO_STEPS>
  %chosen = getelementptr i8, ptr %at, i64 %steps
  %one_of_two = call ptr @part(ptr %out, ptr %args, ptr %chosen)
  ret ptr %one_of_two
no_argument:
  %made_or_not = call ptr @item(ptr %out, i64 %place)
  %mine = call {i64, i64} @extent(ptr %made_or_not, i64 1)
  %my_low = extractvalue {i64, i64} %mine, 0
  %my_high = extractvalue {i64, i64} %mine, 1
  br label %other
other:
  %word = phi i64 [3, %no_argument], [%next_word, %apart]
  %other_at = getelementptr i64, ptr %at, i64 %word
  %packed = load i64, ptr %other_at
  %no_more = icmp slt i64 %packed, 0
  br i1 %no_more, label %alone, label %another
another:
  %other_place = lshr i64 %packed, 8
  %other_size = and i64 %packed, 255
  %other_array = call ptr @item(ptr %args, i64 %other_place)
  %its = call {i64, i64} @extent(ptr %other_array, i64 %other_size)
  %its_low = extractvalue {i64, i64} %its, 0
  %its_high = extractvalue {i64, i64} %its, 1
  %begins = icmp ult i64 %my_low, %its_high
  %ends = icmp ult i64 %its_low, %my_high
  %meet = and i1 %begins, %ends
  br i1 %meet, label %ask, label %apart
apart:
  %next_word = add i64 %word, 1
  %was_last = icmp eq i64 %next_word, <WORDS>
  br i1 %was_last, label %alone, label %other
ask:
  %kept_apart = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %type, ptr %made_or_not, ptr %args, ptr null)
  ret ptr %kept_apart
alone:
  call void @Py_IncRef(ptr %made_or_not)
  ret ptr %made_or_not
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
  %tuple = call ptr @tuple(ptr %out, ptr %args, ptr %parts, i64 %count)
  ret ptr %tuple
}

; A tuple of parts, some of which may be tuples: their own parts follow these, and are as many as the third word says.
define internal ptr @tuple(ptr %out, ptr %args, ptr %parts, i64 %count) {
  %tuple = call ptr @PyTuple_New(i64 %count)
  %none = icmp eq ptr %tuple, null
  br i1 %none, label %failed, label %next
next:
  %k = phi i64 [0, %0], [%k_after, %put]
  %at = phi ptr [%parts, %0], [%at_after, %put]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %make, label %done
make:
  %part = call ptr @part(ptr %out, ptr %args, ptr %at)
  %missing = icmp eq ptr %part, null
  br i1 %missing, label %drop, label %put
put:
  %items = getelementptr i8, ptr %tuple, i64 <ITEMS>
  %place = getelementptr ptr, ptr %items, i64 %k
  store ptr %part, ptr %place
  %what = load i64, ptr %at
  %is_tuple = icmp eq i64 %what, <TUPLE>
  %is_either = icmp eq i64 %what, <EITHER>
  %has_parts = or i1 %is_tuple, %is_either
  %inside_at = getelementptr i64, ptr %at, i64 2
  %inside = load i64, ptr %inside_at
  %skipped = select i1 %has_parts, i64 %inside, i64 0
  %steps = add i64 %skipped, 1
  %bytes = mul i64 %steps, <STEP>
  %at_after = getelementptr i8, ptr %at, i64 %bytes
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
"""
