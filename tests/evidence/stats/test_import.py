import subprocess
import sys

MEASURE = """
import sys, time
started = time.process_time()  # what the import costs, whatever else the machine is doing
import evade.evidence.stats
print(time.process_time() - started)
print(sorted({"torch", "matplotlib", "pandas", "scipy", "tyro"} & {name.split(".")[0] for name in sys.modules}))
"""


def test_statistics_import_fast_and_alone():
    measured = [
        subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True).stdout.split("\n")
        for _ in range(3)
    ]
    assert min(float(lines[0]) for lines in measured) < 0.5
    assert measured[0][1] == "[]"
