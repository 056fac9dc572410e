#!/usr/bin/env python3
"""Plants faults in PTX and demands that the simulator finds each: the mutation test of src/sim.

    mutate.py --tilec build/release/src/cli/tilec [--filter TEXT] [--list]

mutations.py is the table of faults, subjects.py has the programs they are planted in. A fault of synchronisation or
of memory must be found by the check its row names, under every schedule (rows that need a certain order of warps say
so); a fault of arithmetic by any finding or by a result that differs from the float64 reference. The sound
programs, and those changed in a way that the table proves to be equivalent, must give no finding and the right result
under every schedule. --list also prints how each fault was found.
"""
import argparse
import concurrent.futures
import os
import sys
import tempfile

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(TESTS, "e2e", "kernels"))

from mutations import RESULT, TABLE, Equivalent, Fault  # noqa: E402
from simulate import first_difference, simulate  # noqa: E402
from subjects import all_subjects  # noqa: E402

ONE = ("--threads", "1")
SCHEDULES = {
    "round robin": ONE,
    "random 1, early": (*ONE, "--schedule", "random", "--seed", "1", "--early"),
    "adversarial": (*ONE, "--schedule", "adversarial"),
    "adversarial, early": (*ONE, "--schedule", "adversarial", "--early"),
    "several threads": ("--threads", "2"),
    "round robin, early": (*ONE, "--early"),
    "random 2": (*ONE, "--schedule", "random", "--seed", "2"),
    "random 3": (*ONE, "--schedule", "random", "--seed", "3"),
}
FAULT_SCHEDULES = list(SCHEDULES)[:5]
MAX_STEPS = ("--max-steps", "300000")


class Runs:
    """Runs programs of one subject's version, each result kept in one folder."""

    def __init__(self, tilec, case, folder):
        self.tilec, self.case, self.folder, self.count = tilec, case, folder, 0

    def run(self, program, schedule):
        self.count += 1
        return simulate(self.tilec, program, self.case, self.folder, SCHEDULES[schedule] + MAX_STEPS, f"run{self.count}")


def findings_of(outcome):
    return {finding["id"] for finding in outcome.findings}


def judge_sound(runs, program):
    """None, or what is wrong: a finding, or a result that differs, under any schedule."""
    for schedule in SCHEDULES:
        outcome = runs.run(program, schedule)
        wrong = outcome.findings[0]["message"] if outcome.status else first_difference(runs.case, outcome)
        if wrong:
            return f"{schedule}: {wrong}"
    return None


def judge_result(runs, program):
    outcome = runs.run(program, "round robin")
    if outcome.status:
        return None, ", ".join(sorted(findings_of(outcome)))
    return (None, "result") if first_difference(runs.case, outcome) else ("nothing is reported, the result is right", "")


def judge_check(runs, program, fault):
    """A fault that a check must find: under every schedule, or under one where the row says so."""
    missed, found = [], 0
    for schedule in FAULT_SCHEDULES:
        outcome = runs.run(program, schedule)
        if outcome.counts is None:
            return f"does not run: {outcome.findings[0]['message']}", ""
        if findings_of(outcome) & set(fault.finds):
            found += 1
        else:
            missed.append(f"{schedule}: {', '.join(sorted(findings_of(outcome))) or 'nothing'}")
    if not found or (missed and not fault.some_schedule):
        return f"wanted {' or '.join(fault.finds)}; {'; '.join(missed)}", ""
    where = f" under {found} of {len(FAULT_SCHEDULES)} schedules" if missed else ""
    return None, " or ".join(fault.finds) + where


def judge_row(runs, program, row):
    """(what is wrong or None, how it was found)."""
    try:
        changed = row.edit(program)
    except ValueError as error:
        return f"cannot be planted: {error}", ""
    if isinstance(row, Equivalent):
        wrong = judge_sound(runs, changed)
        return (f"is not equivalent: {wrong}" if wrong else None), "equivalent"
    if row.finds is RESULT:
        return judge_result(runs, changed)
    return judge_check(runs, changed, row)


def judge_version(tilec, version, rows):
    """[(row or None for the sound program, what is wrong or None, how it was found)] of one version of a subject."""
    _, program, case = version
    with tempfile.TemporaryDirectory(prefix="tilec-mutate-") as folder:
        runs = Runs(tilec, case, folder)
        wrong = judge_sound(runs, program)
        if wrong:
            return [(None, wrong, "")]
        return [(None, None, "sound")] + [(row, *judge_row(runs, program, row)) for row in rows]


def print_rows(subject, results, show):
    """Prints what is wrong, and with `show` everything."""
    for label, rows in results:
        for row, wrong, how in rows:
            name = f"{subject} for {label}: {row.name if row else 'the sound program'}"
            if wrong:
                print(f"FAILED {name}: {wrong}")
            elif show:
                print(f"{name}: {how}")


def count_kinds(found, total):
    for kind in sorted(total):
        print(f"  {kind:<12} {found.get(kind, 0):>3} of {total[kind]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--filter", default="", help="only subjects whose name has this")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    subjects = {name: make for name, make in all_subjects().items() if options.filter in name}
    failed, found, total, equivalent = 0, {}, {}, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {name: [(version[0], pool.submit(judge_version, options.tilec, version, TABLE.get(name, [])))
                       for version in make(options.tilec)] for name, make in subjects.items()}
        for name, versions in jobs.items():
            results = [(label, job.result()) for label, job in versions]
            print_rows(name, results, options.list)
            good = {row for row in TABLE.get(name, [])
                    if all(any(r is row and not wrong for r, wrong, _ in rows) for _, rows in results)}
            failed += sum(bool(wrong) for _, rows in results for _, wrong, _ in rows)
            for row in TABLE.get(name, []):
                if isinstance(row, Fault):
                    total[row.kind] = total.get(row.kind, 0) + 1
                    found[row.kind] = found.get(row.kind, 0) + (row in good)
                else:
                    equivalent += row in good
    count_kinds(found, total)
    print(f"{len(subjects)} sound programs, {equivalent} equivalent changes, {len(SCHEDULES)} schedules")
    print(f"mutation score: {sum(found.values())} of {sum(total.values())}")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
