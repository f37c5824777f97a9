"""The code of `srcgraph.runtime.pool`: blocks of memory taken and given back, as LLVM's instructions.

It is compiled as it stands, without LLVM's passes, which take longer than they are worth here. ``<HUGE>`` and the like
stand for numbers.

References
----------
LLVM language reference. mmap(2), madvise(2). numba, ``core/runtime/nrt_external.h``.
"""

from __future__ import annotations

import mmap
import re

PLACES = 1024
"""How many blocks can be kept."""
HUGE, SMALL = 2 << 20, 64 << 10
"""Bytes; blocks are of whole huge pages where that is at most an eighth more than is needed, else of small pieces."""


def text() -> str:
    """The module."""
    numbers = {
        "PLACES": PLACES,
        "HUGE": HUGE,
        "SMALL": SMALL,
        "PROTECTION": mmap.PROT_READ | mmap.PROT_WRITE,
        "FLAGS": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
        "ADVICE_HUGE": getattr(mmap, "MADV_HUGEPAGE", 0),  # 0 is no advice
        "ADVICE_FREE": getattr(mmap, "MADV_FREE", 0),
    }
    return re.sub(r"<(-?)(\w+)>", lambda found: f"{found[1]}{numbers[found[2]]}", CODE)


CODE = """
%State = type {i64, i64, i64, i64, i64, i64, i64, [<PLACES> x ptr], [<PLACES> x i64]}

declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare ptr @srcgraph_memory_external(i64, ptr)
declare ptr @srcgraph_memory_data(ptr)
@srcgraph_memory_allocator = external global i8

; A MemInfo of numba's with its data behind it, in memory from `take`. Null if there is none.
define ptr @srcgraph_memory_new(i64 %bytes, i64 %cleared) {
  %info = call ptr @srcgraph_memory_external(i64 %bytes, ptr @srcgraph_memory_allocator)
  %none = icmp eq ptr %info, null
  %asked = icmp ne i64 %cleared, 0
  %done = xor i1 %asked, true
  %leave = or i1 %none, %done
  br i1 %leave, label %end, label %look
look:
  %size_at = getelementptr i8, ptr %info, i64 -8
  %size = load i64, ptr %size_at
  %fresh = trunc i64 %size to i1
  br i1 %fresh, label %end, label %clear
clear:
  %data = call ptr @srcgraph_memory_data(ptr %info)
  call void @llvm.memset.p0.i64(ptr %data, i8 0, i64 %bytes, i1 false)
  br label %end
end:
  ret ptr %info
}

; Memory in a block that is kept, the smallest that is large enough and wastes little, the latest of several, or in a
; new one. Before it are the address and the size of its block; the size is odd if all its bytes are 0, as they are
; where it is new.
define ptr @srcgraph_memory_take(i64 %bytes, ptr %state) {
  %wanted = add i64 %bytes, 16
  %up = add i64 %wanted, <HUGE>
  %whole = and i64 %up, <-HUGE>
  %spare = sub i64 %whole, %wanted
  %eighth = lshr i64 %wanted, 3
  %much = icmp ugt i64 %spare, %eighth
  %up_small = add i64 %wanted, <SMALL>
  %small = and i64 %up_small, <-SMALL>
  %need = select i1 %much, i64 %small, i64 %whole
  %quarter = lshr i64 %need, 2
  %most = add i64 %need, %quarter
  %locked = call i1 @lock(ptr %state)
  br i1 %locked, label %start, label %new
start:
  %count_at = getelementptr %State, ptr %state, i64 0, i32 6
  %count = load i64, ptr %count_at
  br label %test
test:
  %k = phi i64 [%count, %start], [%before, %step]
  %best = phi i64 [-1, %start], [%better, %step]
  %least = phi i64 [%most, %start], [%lesser, %step]
  %exact = icmp eq i64 %least, %need
  %first = icmp eq i64 %k, 0
  %ended = or i1 %exact, %first
  br i1 %ended, label %chosen, label %step
step:
  %before = sub i64 %k, 1
  %at = getelementptr %State, ptr %state, i64 0, i32 8, i64 %before
  %size = load i64, ptr %at
  %enough = icmp uge i64 %size, %need
  %less = icmp ult i64 %size, %least
  %fits = and i1 %enough, %less
  %better = select i1 %fits, i64 %before, i64 %best
  %lesser = select i1 %fits, i64 %size, i64 %least
  br label %test
chosen:
  %none = icmp eq i64 %best, -1
  br i1 %none, label %miss, label %hit
hit:
  %kept = call ptr @remove(ptr %state, i64 %best)
  call void @unlock(ptr %state)
  br label %found
miss:
  call void @unlock(ptr %state)
  br label %new
new:
  %mapped = call ptr @map(i64 %need)
  %failed = icmp eq ptr %mapped, null
  br i1 %failed, label %full, label %found
full:
  call void @srcgraph_memory_release(ptr %state, i64 0)
  %again = call ptr @map(i64 %need)
  %without = icmp eq ptr %again, null
  br i1 %without, label %nothing, label %found
nothing:
  ret ptr null
found:
  %base = phi ptr [%kept, %hit], [%mapped, %new], [%again, %full]
  %actual = phi i64 [%least, %hit], [%need, %new], [%need, %full]
  %is_new = phi i64 [0, %hit], [1, %new], [1, %full]
  %memory = getelementptr i8, ptr %base, i64 16
  %perturb_at = getelementptr %State, ptr %state, i64 0, i32 4
  %perturb = load i64, ptr %perturb_at
  %fills = icmp sge i64 %perturb, 0
  br i1 %fills, label %fill, label %note
fill:
  %byte = trunc i64 %perturb to i8
  %other = xor i8 %byte, -1
  call void @llvm.memset.p0.i64(ptr %memory, i8 %other, i64 %bytes, i1 false)
  br label %note
note:
  %mark = phi i64 [%is_new, %found], [0, %fill]
  %used_at = getelementptr %State, ptr %state, i64 0, i32 3
  %used = atomicrmw add ptr %used_at, i64 %actual monotonic
  store ptr %base, ptr %base
  %noted = or i64 %actual, %mark
  %noted_at = getelementptr i8, ptr %base, i64 8
  store i64 %noted, ptr %noted_at
  ret ptr %memory
}

; The block of memory from `take` is kept, if it may be, and what was kept for longest goes if it is too much then.
define void @srcgraph_memory_give(ptr %memory, ptr %state) {
  %base_at = getelementptr i8, ptr %memory, i64 -16
  %base = load ptr, ptr %base_at
  %size_at = getelementptr i8, ptr %memory, i64 -8
  %noted = load i64, ptr %size_at
  %size = and i64 %noted, -2
  %used_at = getelementptr %State, ptr %state, i64 0, i32 3
  %used = atomicrmw sub ptr %used_at, i64 %size monotonic
  %limit_at = getelementptr %State, ptr %state, i64 0, i32 1
  %limit = load atomic i64, ptr %limit_at monotonic, align 8
  %too_large = icmp ugt i64 %size, %limit
  br i1 %too_large, label %unmap, label %prepare
prepare:
  %perturb_at = getelementptr %State, ptr %state, i64 0, i32 4
  %perturb = load i64, ptr %perturb_at
  %fills = icmp sge i64 %perturb, 0
  br i1 %fills, label %fill, label %leave
fill:
  %byte = trunc i64 %perturb to i8
  call void @llvm.memset.p0.i64(ptr %base, i8 %byte, i64 %size, i1 false)
  br label %again
leave:
  %lazy_at = getelementptr %State, ptr %state, i64 0, i32 5
  %lazy = load i64, ptr %lazy_at
  %whole = and i64 %size, <-HUGE>
  %advised = icmp ne i64 %lazy, 0
  %pages = icmp ne i64 %whole, 0
  %advises = and i1 %advised, %pages
  br i1 %advises, label %advise, label %again
advise:
  %ignored = call i32 @madvise(ptr %base, i64 %whole, i32 <ADVICE_FREE>)
  br label %again
again:
  %locked = call i1 @lock(ptr %state)
  br i1 %locked, label %look, label %unmap
look:
  %held_at = getelementptr %State, ptr %state, i64 0, i32 2
  %held = load i64, ptr %held_at
  %sum = add i64 %held, %size
  %within = icmp ule i64 %sum, %limit
  %count_at = getelementptr %State, ptr %state, i64 0, i32 6
  %count = load i64, ptr %count_at
  %free = icmp ult i64 %count, <PLACES>
  %room = and i1 %within, %free
  br i1 %room, label %put, label %oldest
put:
  %place = getelementptr %State, ptr %state, i64 0, i32 7, i64 %count
  store ptr %base, ptr %place
  %entry = getelementptr %State, ptr %state, i64 0, i32 8, i64 %count
  store i64 %size, ptr %entry
  %more = add i64 %count, 1
  store i64 %more, ptr %count_at
  store i64 %sum, ptr %held_at
  call void @unlock(ptr %state)
  ret void
oldest:
  call void @drop(ptr %state)
  br label %again
unmap:
  %result = call i32 @munmap(ptr %base, i64 %size)
  ret void
}

; What was kept for longest goes, until no more than some bytes are kept.
define void @srcgraph_memory_release(ptr %state, i64 %bytes) {
  br label %again
again:
  %locked = call i1 @lock(ptr %state)
  br i1 %locked, label %look, label %end
look:
  %held_at = getelementptr %State, ptr %state, i64 0, i32 2
  %held = load i64, ptr %held_at
  %done = icmp ule i64 %held, %bytes
  br i1 %done, label %last, label %oldest
oldest:
  call void @drop(ptr %state)
  br label %again
last:
  call void @unlock(ptr %state)
  br label %end
end:
  ret void
}

; With the lock: the oldest block goes, and so does the lock.
define internal void @drop(ptr %state) {
  %size_at = getelementptr %State, ptr %state, i64 0, i32 8, i64 0
  %size = load i64, ptr %size_at
  %base = call ptr @remove(ptr %state, i64 0)
  call void @unlock(ptr %state)
  %result = call i32 @munmap(ptr %base, i64 %size)
  ret void
}

; With the lock: a block that is no longer kept; those after it move up.
define internal ptr @remove(ptr %state, i64 %k) {
  %base_at = getelementptr %State, ptr %state, i64 0, i32 7, i64 %k
  %base = load ptr, ptr %base_at
  %size_at = getelementptr %State, ptr %state, i64 0, i32 8, i64 %k
  %size = load i64, ptr %size_at
  %held_at = getelementptr %State, ptr %state, i64 0, i32 2
  %held = load i64, ptr %held_at
  %rest = sub i64 %held, %size
  store i64 %rest, ptr %held_at
  %count_at = getelementptr %State, ptr %state, i64 0, i32 6
  %count = load i64, ptr %count_at
  %fewer = sub i64 %count, 1
  store i64 %fewer, ptr %count_at
  %after = sub i64 %fewer, %k
  %bytes = mul i64 %after, 8
  %next_base = getelementptr ptr, ptr %base_at, i64 1
  call void @llvm.memmove.p0.p0.i64(ptr %base_at, ptr %next_base, i64 %bytes, i1 false)
  %next_size = getelementptr i64, ptr %size_at, i64 1
  call void @llvm.memmove.p0.p0.i64(ptr %size_at, ptr %next_size, i64 %bytes, i1 false)
  ret ptr %base
}

define internal i1 @lock(ptr %state) {
  %pair = cmpxchg ptr %state, i64 0, i64 1 acquire monotonic
  %locked = extractvalue {i64, i1} %pair, 1
  ret i1 %locked
}

define internal void @unlock(ptr %state) {
  store atomic i64 0, ptr %state release, align 8
  ret void
}

; New memory, of huge pages if it is large enough: these are aligned. What was mapped too much goes again.
define internal ptr @map(i64 %size) {
  %few = icmp ult i64 %size, <HUGE>
  %room = select i1 %few, i64 0, i64 <HUGE>
  %longer = add i64 %size, %room
  %start = call ptr @mmap(ptr null, i64 %longer, i32 <PROTECTION>, i32 <FLAGS>, i32 -1, i64 0)
  %address = ptrtoint ptr %start to i64
  %failed = icmp eq i64 %address, -1
  br i1 %failed, label %nothing, label %made
nothing:
  ret ptr null
made:
  br i1 %few, label %as_it_is, label %align
as_it_is:
  ret ptr %start
align:
  %up = add i64 %address, <HUGE>
  %aligned = and i64 %up, <-HUGE>
  %before = sub i64 %aligned, %address
  %after = sub i64 <HUGE>, %before
  %base = inttoptr i64 %aligned to ptr
  %behind = getelementptr i8, ptr %base, i64 %size
  %result = call i32 @munmap(ptr %start, i64 %before)
  %has_after = icmp ne i64 %after, 0
  br i1 %has_after, label %cut, label %end
cut:
  %result2 = call i32 @munmap(ptr %behind, i64 %after)
  br label %end
end:
  %result3 = call i32 @madvise(ptr %base, i64 %size, i32 <ADVICE_HUGE>)
  ret ptr %base
}
"""
