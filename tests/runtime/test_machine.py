"""What `evade doctor` finds out by trying."""

import signal

from evade.runtime.machine import try_bf16


def test_a_product_that_works_is_reported():
    assert try_bf16().value == "works on the CPU"


def test_a_product_that_ends_the_process_is_reported_with_advice():
    found = try_bf16("import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    assert f"ends the process on this CPU (code -{signal.SIGILL.value})" in found.value
    assert "ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16" in found.value
    assert found.is_well, "all presets compute in float32"
