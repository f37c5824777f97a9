"""The code of `srcgraph.runtime.workers`: threads that run the parts of loops, as LLVM's instructions.

It is compiled as it stands, without LLVM's passes. ``<BUSY>`` and the like stand for numbers: the places of the state's
words, and constants of the system. Words that several threads change are a cache line apart.

References
----------
LLVM language reference. pthread_create(3), pthread_cond_wait(3), pthread_sigmask(3), clock_gettime(2).
"""

from __future__ import annotations

import platform
import re
import signal
import time

PLACES = {
    "THREADS": 0, "GRAIN": 1, "LEAST": 2, "PROCESS": 3, "STARTED": 4, "CLOSING": 5, "REGIONS": 6, "SHARED": 7,
    "BUSY": 8, "OPEN": 16, "NEXT": 24, "ACTIVE": 32, "GENERATION": 40, "SLEEPING": 48, "FUNCTION": 56, "CONTEXT": 57,
    "PARTS": 58, "FIRST": 59, "STRIDE": 60, "MOST": 61, "MUTEX": 64, "CONDITION": 80,
}  # fmt: skip
"""Where in the state each word is; a mutex and a condition of the system's take up to 128 bytes each."""
WORDS = 96
MOST_PARTS = 128
"""A loop is divided into so many parts at most."""
MOST_APART = 1 << 23
"""Parts have so many elements of their own at most, to add to, all together."""
_SPIN = 50_000
"""Nanoseconds that a thread without work looks for some before it sleeps."""
_AWAKE, _PATIENCE = 1000, 4000
"""How often the caller looks whether the last parts are done before it lets others run, and before it sleeps."""
_X86, _ARM = ("llvm.x86.sse2.pause", "", ""), ("llvm.aarch64.hint", "i32", "i32 1")
_WAITS = {"x86_64": _X86, "AMD64": _X86, "aarch64": _ARM, "arm64": _ARM}
"""What a processor does while a thread looks for something again and again: a name, the type of its argument, that."""


def text() -> str:
    """The module."""
    name, kind, argument = _WAITS.get(platform.machine(), ("llvm.donothing", "", ""))
    numbers = {
        **PLACES,
        "WORDS": WORDS,
        "MOST_PARTS": f"{float(MOST_PARTS):e}",
        "MOST_APART": f"{float(MOST_APART):e}",
        "SPIN": _SPIN,
        "AWAKE": _AWAKE,
        "PATIENCE": _PATIENCE,
        "WAIT": f"@{name}({argument})",
        "WAITS": f"@{name}({kind})",
        "CLOCK": getattr(time, "CLOCK_MONOTONIC", 1),
        "SET_MASK": int(getattr(signal, "SIG_SETMASK", 2)),
    }
    return re.sub(r"<(\w+)>", lambda found: str(numbers[found[1]]), CODE)


CODE = """
@srcgraph_threads_state = external global [<WORDS> x i64]

declare i32 @getpid()
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @sched_yield()
declare void <WAITS>
declare i32 @usleep(i32)
declare i32 @clock_gettime(i32, ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; How many parts a loop is divided into: so many that each has work enough, whatever the number of threads is.
; `size` is how many elements each part sums up apart, `spread` how long a part has to be at least.
define i64 @srcgraph_threads_parts(i64 %trips, double %work, i64 %size, i64 %spread) {
  %count = sitofp i64 %trips to double
  %total = fmul double %count, %work
  %grain_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <GRAIN>
  %grain_bits = load i64, ptr %grain_at
  %grain = sitofp i64 %grain_bits to double
  %least_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <LEAST>
  %least_bits = load i64, ptr %least_at
  %least = sitofp i64 %least_bits to double
  %elements = sitofp i64 %size to double
  %apart = fmul double %elements, 1.600000e+01
  %small = fcmp ole double %apart, %grain
  %each = select i1 %small, double %grain, double %apart
  %asked = fdiv double %total, %each
  %many = fcmp ogt double %asked, <MOST_PARTS>
  %parts_0 = select i1 %many, double <MOST_PARTS>, double %asked
  %room = fdiv double <MOST_APART>, %elements
  %full = fcmp ogt double %parts_0, %room
  %parts_1 = select i1 %full, double %room, double %parts_0
  %long = call i64 @at_least_one(i64 %spread)
  %fitting = udiv i64 %trips, %long
  %most = sitofp i64 %fitting to double
  %more = fcmp ogt double %parts_1, %most
  %parts_2 = select i1 %more, double %most, double %parts_1
  %worth = fcmp oge double %asked, %least
  %none = icmp slt i64 %trips, 2
  %some = xor i1 %none, true
  %sane = and i1 %worth, %some
  %bounded = select i1 %sane, double %parts_2, double 1.000000e+00
  %parts = fptosi double %bounded to i64
  %result = call i64 @at_least_one(i64 %parts)
  ret i64 %result
}

define internal i64 @at_least_one(i64 %n) {
  %enough = icmp sgt i64 %n, 1
  %result = select i1 %enough, i64 %n, i64 1
  ret i64 %result
}

; Run `function(context, first + k * stride)` for all k below `parts`, here and on other threads.
define void @srcgraph_threads_run(ptr %function, ptr %context, i64 %parts, i64 %first, i64 %stride) {
  %threads_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <THREADS>
  %threads = load atomic i64, ptr %threads_at monotonic, align 8
  %closing_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <CLOSING>
  %closing = load atomic i64, ptr %closing_at monotonic, align 8
  %one_thread = icmp slt i64 %threads, 2
  %one_part = icmp slt i64 %parts, 2
  %closed = icmp ne i64 %closing, 0
  %alone_1 = or i1 %one_thread, %one_part
  %alone = or i1 %alone_1, %closed
  br i1 %alone, label %here, label %look
look:
  %pid = call i32 @getpid()
  %process = sext i32 %pid to i64
  %process_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <PROCESS>
  %known = load atomic i64, ptr %process_at acquire, align 8
  %same = icmp eq i64 %known, %process
  br i1 %same, label %ask, label %anew
anew:
  %begun = call i1 @begin(i64 %known, i64 %process)
  br i1 %begun, label %ask, label %here
ask:
  %busy_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <BUSY>
  %pair = cmpxchg ptr %busy_at, i64 0, i64 1 acquire monotonic
  %free = extractvalue {i64, i1} %pair, 1
  br i1 %free, label %publish, label %here
publish:
  %others = sub i64 %threads, 1
  call void @start(i64 %others)
  %function_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <FUNCTION>
  store ptr %function, ptr %function_at
  %context_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <CONTEXT>
  store ptr %context, ptr %context_at
  %parts_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <PARTS>
  store i64 %parts, ptr %parts_at
  %first_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <FIRST>
  store i64 %first, ptr %first_at
  %stride_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <STRIDE>
  store i64 %stride, ptr %stride_at
  %most_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <MOST>
  store i64 %others, ptr %most_at
  %next_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <NEXT>
  store atomic i64 0, ptr %next_at seq_cst, align 8
  %regions_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <REGIONS>
  %regions = atomicrmw add ptr %regions_at, i64 1 monotonic
  %open_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <OPEN>
  store atomic i64 1, ptr %open_at seq_cst, align 8
  %generation_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <GENERATION>
  %generation = atomicrmw add ptr %generation_at, i64 1 seq_cst
  %sleeping_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <SLEEPING>
  %sleeping = load atomic i64, ptr %sleeping_at seq_cst, align 8
  %asleep = icmp sgt i64 %sleeping, 0
  br i1 %asleep, label %wake, label %join
wake:
  call void @wake_all()
  br label %join
join:
  %mine = call i64 @work()
  store atomic i64 0, ptr %open_at seq_cst, align 8
  call void @wait_for_others()
  store atomic i64 0, ptr %busy_at release, align 8
  ret void
here:
  br label %test
test:
  %k = phi i64 [0, %here], [%after, %step]
  %ended = icmp sge i64 %k, %parts
  br i1 %ended, label %end, label %step
step:
  %offset = mul i64 %k, %stride
  %part = add i64 %first, %offset
  call void %function(ptr %context, i64 %part)
  %after = add i64 %k, 1
  br label %test
end:
  ret void
}

; Take parts until there are none; how many it were.
define internal i64 @work() {
  %function_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <FUNCTION>
  %function = load ptr, ptr %function_at
  %context_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <CONTEXT>
  %context = load ptr, ptr %context_at
  %parts_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <PARTS>
  %parts = load i64, ptr %parts_at
  %first_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <FIRST>
  %first = load i64, ptr %first_at
  %stride_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <STRIDE>
  %stride = load i64, ptr %stride_at
  %next_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <NEXT>
  br label %test
test:
  %done = phi i64 [0, %0], [%more, %step]
  %k = atomicrmw add ptr %next_at, i64 1 seq_cst
  %ended = icmp sge i64 %k, %parts
  br i1 %ended, label %end, label %step
step:
  %offset = mul i64 %k, %stride
  %part = add i64 %first, %offset
  call void %function(ptr %context, i64 %part)
  %more = add i64 %done, 1
  br label %test
end:
  ret i64 %done
}

; The caller has no more parts; others may still run theirs.
define internal void @wait_for_others() {
  %active_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <ACTIVE>
  br label %test
test:
  %looks = phi i64 [0, %0], [%more, %again]
  %active = load atomic i64, ptr %active_at seq_cst, align 8
  %none = icmp sle i64 %active, 0
  br i1 %none, label %end, label %wait
wait:
  %awake = icmp slt i64 %looks, <AWAKE>
  br i1 %awake, label %spin, label %tire
spin:
  call void <WAIT>
  br label %again
tire:
  %patient = icmp slt i64 %looks, <PATIENCE>
  br i1 %patient, label %yield, label %sleep
yield:
  %yielded = call i32 @sched_yield()
  br label %again
sleep:
  %slept = call i32 @usleep(i32 50)
  br label %again
again:
  %more = add i64 %looks, 1
  br label %test
end:
  ret void
}

define internal void @wake_all() {
  %mutex = getelementptr i64, ptr @srcgraph_threads_state, i64 <MUTEX>
  %condition = getelementptr i64, ptr @srcgraph_threads_state, i64 <CONDITION>
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %woken = call i32 @pthread_cond_broadcast(ptr %condition)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret void
}

; A process that was forked has none of the threads, and whatever they held. One thread sees to that.
define internal i1 @begin(i64 %known, i64 %process) {
  %process_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <PROCESS>
  %another = icmp eq i64 %known, -1
  br i1 %another, label %not_me, label %try
try:
  %pair = cmpxchg ptr %process_at, i64 %known, i64 -1 acquire monotonic
  %mine = extractvalue {i64, i1} %pair, 1
  br i1 %mine, label %clear, label %not_me
not_me:
  ret i1 false
clear:
  %started_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <STARTED>
  store atomic i64 0, ptr %started_at seq_cst, align 8
  %open_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <OPEN>
  store atomic i64 0, ptr %open_at seq_cst, align 8
  %active_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <ACTIVE>
  store atomic i64 0, ptr %active_at seq_cst, align 8
  %sleeping_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <SLEEPING>
  store atomic i64 0, ptr %sleeping_at seq_cst, align 8
  %busy_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <BUSY>
  store atomic i64 0, ptr %busy_at seq_cst, align 8
  %mutex = getelementptr i64, ptr @srcgraph_threads_state, i64 <MUTEX>
  call void @llvm.memset.p0.i64(ptr %mutex, i8 0, i64 256, i1 false)
  %made_1 = call i32 @pthread_mutex_init(ptr %mutex, ptr null)
  %condition = getelementptr i64, ptr @srcgraph_threads_state, i64 <CONDITION>
  %made_2 = call i32 @pthread_cond_init(ptr %condition, ptr null)
  store atomic i64 %process, ptr %process_at release, align 8
  ret i1 true
}

; While busy: start threads until there are so many, or the system has no more. Signals are left to other threads.
define internal void @start(i64 %wanted) {
  %full = alloca [16 x i64]
  %old = alloca [16 x i64]
  %thread = alloca ptr
  %started_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <STARTED>
  br label %test
test:
  %started = load atomic i64, ptr %started_at seq_cst, align 8
  %enough = icmp sge i64 %started, %wanted
  br i1 %enough, label %end, label %step
step:
  call void @llvm.memset.p0.i64(ptr %full, i8 -1, i64 128, i1 false)
  call void @llvm.memset.p0.i64(ptr %old, i8 0, i64 128, i1 false)
  %masked = call i32 @pthread_sigmask(i32 <SET_MASK>, ptr %full, ptr %old)
  %error = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr null)
  %restored = call i32 @pthread_sigmask(i32 <SET_MASK>, ptr %old, ptr null)
  %failed = icmp ne i32 %error, 0
  br i1 %failed, label %end, label %made
made:
  %handle = load ptr, ptr %thread
  %detached = call i32 @pthread_detach(ptr %handle)
  %count = atomicrmw add ptr %started_at, i64 1 seq_cst
  br label %test
end:
  ret void
}

; What a thread does: it takes part in what is open, looks for more for a while, and sleeps.
define internal ptr @worker(ptr %unused) {
  %closing_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <CLOSING>
  %generation_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <GENERATION>
  %active_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <ACTIVE>
  %open_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <OPEN>
  %most_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <MOST>
  %shared_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <SHARED>
  %started_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <STARTED>
  %sleeping_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <SLEEPING>
  %mutex = getelementptr i64, ptr @srcgraph_threads_state, i64 <MUTEX>
  %condition = getelementptr i64, ptr @srcgraph_threads_state, i64 <CONDITION>
  br label %enter
enter:
  %seen = load atomic i64, ptr %generation_at seq_cst, align 8
  %before = atomicrmw add ptr %active_at, i64 1 seq_cst
  %open = load atomic i64, ptr %open_at seq_cst, align 8
  %is_open = icmp eq i64 %open, 1
  br i1 %is_open, label %room, label %leave
room:
  %most = load i64, ptr %most_at
  %fits = icmp slt i64 %before, %most
  br i1 %fits, label %take, label %leave
take:
  %done = call i64 @work()
  %counted = atomicrmw add ptr %shared_at, i64 %done monotonic
  br label %leave
leave:
  %left = atomicrmw sub ptr %active_at, i64 1 seq_cst
  %began = call i64 @now()
  br label %look
look:
  %generation = load atomic i64, ptr %generation_at seq_cst, align 8
  %new = icmp ne i64 %generation, %seen
  br i1 %new, label %enter, label %pause
pause:
  %closing = load atomic i64, ptr %closing_at monotonic, align 8
  %closed = icmp ne i64 %closing, 0
  br i1 %closed, label %end, label %spin
spin:
  call void <WAIT>
  %time = call i64 @now()
  %waited = sub i64 %time, %began
  %patient = icmp slt i64 %waited, <SPIN>
  br i1 %patient, label %look, label %lie_down
lie_down:
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %down = atomicrmw add ptr %sleeping_at, i64 1 seq_cst
  br label %check
check:
  %again = load atomic i64, ptr %generation_at seq_cst, align 8
  %called = icmp ne i64 %again, %seen
  %last = load atomic i64, ptr %closing_at monotonic, align 8
  %ends = icmp ne i64 %last, 0
  %up = or i1 %called, %ends
  br i1 %up, label %awake, label %sleep
sleep:
  %slept = call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  br label %check
awake:
  %risen = atomicrmw sub ptr %sleeping_at, i64 1 seq_cst
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br i1 %ends, label %end, label %enter
end:
  %gone = atomicrmw sub ptr %started_at, i64 1 seq_cst
  ret ptr null
}

define internal i64 @now() {
  %time = alloca [2 x i64]
  %asked = call i32 @clock_gettime(i32 <CLOCK>, ptr %time)
  %seconds = load i64, ptr %time
  %rest_at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest_at
  %nanoseconds = mul i64 %seconds, 1000000000
  %result = add i64 %nanoseconds, %rest
  ret i64 %result
}

; No thread is to wait for work any more.
define void @srcgraph_threads_close() {
  %closing_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <CLOSING>
  store atomic i64 1, ptr %closing_at seq_cst, align 8
  %process_at = getelementptr i64, ptr @srcgraph_threads_state, i64 <PROCESS>
  %known = load atomic i64, ptr %process_at acquire, align 8
  %pid = call i32 @getpid()
  %process = sext i32 %pid to i64
  %mine = icmp eq i64 %known, %process
  br i1 %mine, label %wake, label %end
wake:
  call void @wake_all()
  br label %end
end:
  ret void
}
"""
