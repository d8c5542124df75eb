"""Makes the files of tools that need a GPU, by the schemas that the tools document.

One story in every format: three steps of a millisecond, in each a copy to the device,
three kernels of which one communicates, a copy back and a fill. So the formats must
agree, and the expected times are simple sums.

    python3 by_schema.py     writes into the folders beside it
"""

import csv
import json
import os
import sqlite3
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
BASE = 1_000_000_000  # ns
PID, TID = 4242, 4243

GEMM = "void gemm_kernel<float, 128, 128>(float const*, float const*, float*, int)"
RELU = "relu_kernel(float*, int)"
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def story():
    """Host calls and device activities of all steps, times in ns."""
    host, device, correlation = [], [], 100
    for step in range(3):
        at = lambda us: BASE + step * 1_000_000 + us * 1_000
        host.append(dict(kind="range", name="step", start=at(0), end=at(900), correlation=0))
        for call, called, what, name, stream, start, end, size in [
            ("cudaMemcpyAsync", (10, 30), "copy", "HtoD", 13, 40, 140, 1_000_000),
            ("cudaLaunchKernel", (50, 56), "kernel", GEMM, 7, 100, 300, 0),
            ("cudaLaunchKernel", (60, 65), "kernel", RELU, 7, 302, 304, 0),
            ("cudaLaunchKernel", (70, 76), "kernel", REDUCE, 20, 280, 480, 0),
            ("cudaMemcpyAsync", (80, 95), "copy", "DtoH", 14, 480, 520, 4_096),
            ("cudaMemsetAsync", (96, 99), "fill", "", 7, 530, 532, 4_096),
            ("cudaDeviceSynchronize", (100, 540), None, "", 0, 0, 0, 0),
        ]:
            correlation += 1
            host.append(dict(kind="call", name=call, start=at(called[0]), end=at(called[1]),
                             correlation=correlation))
            if what:
                device.append(dict(kind=what, name=name, stream=stream, start=at(start),
                                   end=at(end), bytes=size, correlation=correlation))
    return host, device


def path(*parts):
    whole = os.path.join(HERE, *parts)
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    return whole


def kineto():
    host, device = story()
    events = []
    for pid, name in [(PID, "python"), (0, "python")]:
        events.append(dict(ph="M", name="process_name", ts=BASE / 1e3, pid=pid, tid=0,
                           args=dict(name=name)))
    events.append(dict(ph="M", name="thread_name", ts=BASE / 1e3, pid=PID, tid=TID,
                       args=dict(name="thread 4243 (python)")))
    span = lambda e: dict(ts=e["start"] / 1e3, dur=(e["end"] - e["start"]) / 1e3)
    for number, e in enumerate(host):
        call = e["kind"] == "call"
        name = e["name"] if call else f"ProfilerStep#{number}"
        args = {"External id": number + 1}
        if call:
            args.update(cbid=211, correlation=e["correlation"])
        events.append(dict(ph="X", cat="cuda_runtime" if call else "user_annotation", name=name,
                           pid=PID, tid=TID, **span(e), args=args))
    names = {"HtoD": "Memcpy HtoD (Pinned -> Device)", "DtoH": "Memcpy DtoH (Device -> Pinned)"}
    for e in device:
        args = {"External id": 1, "device": 0, "context": 1, "stream": e["stream"],
                "correlation": e["correlation"]}
        if e["kind"] == "kernel":
            cat, name = "kernel", e["name"]
            args.update({"queued": 0, "registers per thread": 32, "shared memory": 0,
                         "blocks per SM": 0.6, "grid": [80, 1, 1], "block": [128, 1, 1],
                         "est. achieved occupancy %": 25})
        else:
            copy = e["kind"] == "copy"
            cat = "gpu_memcpy" if copy else "gpu_memset"
            name = names[e["name"]] if copy else "Memset (Device)"
            args.update({"bytes": e["bytes"], "memory bandwidth (GB/s)": 1.0})
        events.append(dict(ph="X", cat=cat, name=name, pid=0, tid=e["stream"], **span(e),
                           args=args))
        events.append(dict(ph="f", id=e["correlation"], pid=0, tid=e["stream"],
                           ts=e["start"] / 1e3, cat="ac2g", name="ac2g", bp="e"))
    events.append(dict(ph="X", cat="Trace", name="PyTorch Profiler (0)", pid="Spans",
                       tid="PyTorch Profiler", ts=BASE / 1e3, dur=3_000, args={"Op count": 0}))
    gpu = dict(id=0, name="NVIDIA H200", totalGlobalMem=150_000_000_000, computeMajor=9,
               computeMinor=0, numSms=132)
    document = dict(schemaVersion=1, deviceProperties=[gpu], distributedInfo=dict(rank=0),
                    displayTimeUnit="ms", traceEvents=events)
    with open(path("chrome", "kineto-gpu.json"), "w") as out:
        json.dump(document, out, separators=(",", ":"))


def nsys():
    host, device = story()
    name = path("nsys", "story.sqlite")
    if os.path.exists(name):
        os.remove(name)
    db = sqlite3.connect(name)
    db.execute("PRAGMA page_size = 512")
    db.executescript("""
        CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT,
            busLocation TEXT, isDiscrete INTEGER, totalMemory INTEGER);
        CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT,
            label TEXT);
        CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
            deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
            correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
            shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER,
            gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
            blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,
            deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
            correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,
            copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL,
            deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
            correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL,
            bytes INTEGER NOT NULL, memKind INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
            eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,
            nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
        CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
            rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,
            endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
    """)
    texts = {}

    def text(value):
        if value not in texts:
            texts[value] = len(texts) + 1
            db.execute("INSERT INTO StringIds VALUES (?, ?)", (texts[value], value))
        return texts[value]

    process = 1 << 56 | PID << 24
    thread = process | TID
    db.execute("INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'NVIDIA H200', '0000:01:00.0', 1, ?)",
               (150_000_000_000,))
    db.execute("INSERT INTO ThreadNames VALUES (?, 20, ?)", (text("python"), thread))
    for number, short, label in [(1, "HTOD", "Host-to-Device"), (2, "DTOH", "Device-to-Host")]:
        db.execute("INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (?, ?, ?)",
                   (number, f"CUDA_MEMCPY_OPER_{short}", label))
    for e in host:
        if e["kind"] == "call":
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,0,?,?,?,0,NULL)",
                       (e["start"], e["end"], thread, e["correlation"], text(e["name"] + "_v3020")))
        else:
            db.execute("INSERT INTO NVTX_EVENTS VALUES (?,?,59,NULL,NULL,NULL,?,?,NULL,NULL,0)",
                       (e["start"], e["end"], e["name"], thread))
    # A mark has no end, and a range of the whole program overlaps everything.
    db.execute("INSERT INTO NVTX_EVENTS VALUES (?,NULL,34,NULL,NULL,NULL,?,?,NULL,NULL,0)",
               (BASE, "mark", thread))
    db.execute("INSERT INTO NVTX_EVENTS VALUES (?,?,60,1,NULL,NULL,NULL,?,?,?,0)",
               (BASE - 5_000, BASE + 100_000, thread, thread, text("start to end")))
    for e in device:
        common = (e["start"], e["end"], 0, 1, e["stream"], e["correlation"], process)
        if e["kind"] == "kernel":
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
                       "(?,?,?,?,?,?,?,?,?,NULL,1,80,1,1,128,1,1)",
                       common + (text(e["name"]), text(e["name"].split("(")[0])))
        elif e["kind"] == "copy":
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,?,?,?,?,?,?,?,1,2)",
                       common + (e["bytes"], {"HtoD": 1, "DtoH": 2}[e["name"]]))
        else:
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?,?,?,?,?,?,?,0,?,2)",
                       common + (e["bytes"],))
    db.commit()
    db.execute("VACUUM")
    db.close()


def hip(name):
    return "hip" + name[4:]


DIRECTIONS = {"HtoD": ("MEMORY_COPY_HOST_TO_DEVICE", 0, 2), "DtoH": ("MEMORY_COPY_DEVICE_TO_HOST", 2, 0)}


def rocprofv3_csv():
    host, device = story()

    def table(name, heads, rows):
        with open(path("rocprofv3", "csv", f"4242_{name}.csv"), "w", newline="") as out:
            writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
            writer.writerow(heads)
            writer.writerows(rows)

    shape = [0, 0, 128, 1, 1, 10240, 1, 1]
    table("kernel_trace",
          ["Kind", "Agent_Id", "Queue_Id", "Stream_Id", "Thread_Id", "Dispatch_Id", "Kernel_Id",
           "Kernel_Name", "Correlation_Id", "Start_Timestamp", "End_Timestamp",
           "Private_Segment_Size", "Group_Segment_Size", "Workgroup_Size_X", "Workgroup_Size_Y",
           "Workgroup_Size_Z", "Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z"],
          [["KERNEL_DISPATCH", "Agent 2", 1, e["stream"], TID, n, 11, e["name"], e["correlation"],
            e["start"], e["end"]] + shape
           for n, e in enumerate(device) if e["kind"] == "kernel"])
    table("memory_copy_trace",
          ["Kind", "Direction", "Stream_Id", "Source_Agent_Id", "Destination_Agent_Id",
           "Correlation_Id", "Start_Timestamp", "End_Timestamp"],
          [["MEMORY_COPY", DIRECTIONS[e["name"]][0], e["stream"],
            f"Agent {DIRECTIONS[e['name']][1]}", f"Agent {DIRECTIONS[e['name']][2]}",
            e["correlation"], e["start"], e["end"]] for e in device if e["kind"] == "copy"])
    heads = ["Domain", "Function", "Process_Id", "Thread_Id", "Correlation_Id", "Start_Timestamp",
             "End_Timestamp"]
    table("hip_api_trace", heads,
          [["HIP_RUNTIME_API", hip(e["name"]), PID, TID, e["correlation"], e["start"], e["end"]]
           for e in host if e["kind"] == "call"])
    table("marker_api_trace", heads,
          [["MARKER_CORE_API", e["name"], PID, TID, n, e["start"], e["end"]]
           for n, e in enumerate(host) if e["kind"] == "range"])
    table("agent_info", ["Node_Id", "Logical_Node_Id", "Agent_Type", "Name"],
          [[0, 0, "CPU", "Example CPU"], [2, 2, "GPU", "gfx942"]])


def rocprofv3_json():
    host, device = story()
    kinds = ["NONE", "HIP_RUNTIME_API", "MARKER_CORE_API", "MEMORY_COPY", "KERNEL_DISPATCH"]
    calls = sorted({hip(e["name"]) for e in host if e["kind"] == "call"})
    copies = ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE",
              "MEMORY_COPY_DEVICE_TO_HOST"]
    operations = {"HIP_RUNTIME_API": calls, "MARKER_CORE_API": ["roctxRangePushA"],
                  "MEMORY_COPY": copies}
    kernels = [GEMM, RELU, REDUCE]
    common = lambda e, kind, operation: {
        "size": 64, "kind": kinds.index(kind), "operation": operation,
        "correlation_id": {"internal": e["correlation"], "external": 0, "ancestor": 0},
        "start_timestamp": e["start"], "end_timestamp": e["end"], "thread_id": TID}
    hips, markers, dispatches, moves, messages = [], [], [], [], []
    for number, e in enumerate(host):
        if e["kind"] == "call":
            hips.append(common(e, "HIP_RUNTIME_API", calls.index(hip(e["name"]))))
        else:
            e = dict(e, correlation=9_000 + number)
            markers.append(common(e, "MARKER_CORE_API", 0))
            messages.append({"key": 9_000 + number, "value": e["name"]})
    for e in device:
        if e["kind"] == "kernel":
            record = common(e, "KERNEL_DISPATCH", 1)
            record["stream_id"] = {"handle": e["stream"]}
            record["dispatch_info"] = {
                "agent_id": {"handle": 77}, "queue_id": {"handle": 1},
                "kernel_id": 11 + kernels.index(e["name"]), "dispatch_id": e["correlation"],
                "workgroup_size": {"x": 128, "y": 1, "z": 1},
                "grid_size": {"x": 10240, "y": 1, "z": 1}}
            dispatches.append(record)
        elif e["kind"] == "copy":
            direction, source, target = DIRECTIONS[e["name"]]
            record = common(e, "MEMORY_COPY", copies.index(direction))
            handle = lambda agent: {"handle": 77 if agent == 2 else 55}
            record.update(dst_agent_id=handle(target), src_agent_id=handle(source),
                          bytes=e["bytes"], stream_id={"handle": e["stream"]})
            moves.append(record)
    agents = [
        {"id": {"handle": 55}, "type": 1, "name": "Example CPU", "logical_node_type_id": 0},
        {"id": {"handle": 77}, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X",
         "logical_node_type_id": 0}]
    symbols = [{"size": 0, "kernel_id": 11 + n, "kernel_name": f"_Z{n}.kd",
                "formatted_kernel_name": name} for n, name in enumerate(kernels)]
    strings = {"callback_records": [],
               "buffer_records": [{"kind": kind, "operations": operations.get(kind, [])}
                                  for kind in kinds],
               "marker_api": messages}
    tool = {"metadata": {"pid": PID, "init_time": BASE, "fini_time": BASE + 3_000_000},
            "agents": agents, "counters": [], "strings": strings, "code_objects": [],
            "kernel_symbols": symbols, "host_functions": [], "callback_records": {},
            "buffer_records": {"kernel_dispatch": dispatches, "hip_api": hips, "hsa_api": [],
                               "memory_copy": moves, "marker_api": markers}}
    with open(path("rocprofv3", "4242_results.json"), "w") as out:
        json.dump({"rocprofiler-sdk-tool": [tool]}, out, separators=(",", ":"))


def nvbench():
    def summary(tag, name, kind, value, field="value"):
        return {"tag": tag, "name": name, "hint": "duration", "description": "",
                "data": [{"name": field, "type": kind, "value": value}]}

    states = []
    times = [[1.0e-4, 1.1e-4, 1.05e-4], None, None]
    for index, (size, samples) in enumerate(zip([20, 24, 28], times)):
        state = {"name": f"Device=0 T=F32 Elements=2^{size}", "min_samples": 10, "device": 0,
                 "type_config_index": 0,
                 "axis_values": [{"name": "T", "type": "string", "value": "F32"},
                                 {"name": "Elements", "type": "int64", "value": str(2**size)}],
                 "summaries": None, "is_skipped": size == 28}
        if size == 28:
            state["skip_reason"] = "Not enough memory"
        else:
            state["summaries"] = [
                summary("nv/cold/sample_size", "Samples", "int64", "3"),
                summary("nv/cold/time/cpu/mean", "CPU Time", "float64", "0.00013"),
                summary("nv/cold/time/gpu/mean", "GPU Time", "float64", f"{1.05e-4 * (index + 1)}"),
                summary("nv/cold/bw/global/bytes_per_second", "GlobalMem BW", "float64", "8.0e10")]
        if samples:
            with open(path("nvbench", "copy.json-bin", "0.bin"), "wb") as out:
                out.write(struct.pack(f"<{len(samples)}f", *samples))
            state["summaries"].append(
                {"tag": "nv/json/bin:nv/cold/sample_times", "name": "Samples Times File",
                 "hint": "file/sample_times", "description": "", "hide": "",
                 "data": [{"name": "filename", "type": "string", "value": "copy.json-bin/0.bin"},
                          {"name": "size", "type": "int64", "value": str(len(samples))}]})
        states.append(state)
    axis = lambda name, kind, values: {"name": name, "type": kind, "flags": "", "values": values}
    axes = [axis("T", "type", [{"input_string": "F32", "description": "", "is_active": True}]),
            axis("Elements", "int64", [{"input_string": str(n), "description": f"2^{n}",
                                        "value": 2**n} for n in [20, 24, 28]])]
    document = {
        "meta": {"argv": ["copy", "--jsonbin", "copy.json"],
                 "version": {"json": {"major": 1, "minor": 0, "patch": 0,
                                      "string": "1.0.0"}}},
        "devices": [{"id": 0, "name": "NVIDIA H200", "sm_version": 900,
                     "global_memory_size": 150_000_000_000}],
        "benchmarks": [{"name": "copy", "index": 0, "devices": [0], "axes": axes,
                        "states": states}]}
    with open(path("nvbench", "copy.json"), "w") as out:
        json.dump(document, out, indent=1)


for make in [kineto, nsys, rocprofv3_csv, rocprofv3_json, nvbench]:
    make()
