"""Worker processes that answer a line of JSON with a line of JSON; one that dies or takes too long costs what it was asked alone."""
import json
import select
import subprocess
import threading


class Workers:
    """A process for each thread that asks, started when it is first needed. One that is to end after its answer says "ends" in it."""

    def __init__(self, command, limit):
        self.command, self.limit, self.thread, self.processes = command, limit, threading.local(), []

    def worker(self):
        process = getattr(self.thread, "process", None)
        if process is None or process.poll() is not None:
            process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.thread.process = process
            self.processes.append(process)
        return process

    def ask(self, request):
        """The answer, or what became of the worker: state "died" or "time-limit", and why."""
        process = self.worker()
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            return dict(state="died", why="the worker process ended before it was asked")
        waiting = select.poll()  # select takes no file beyond 1024, and workers that die leave some
        waiting.register(process.stdout, select.POLLIN)
        ready = waiting.poll(self.limit * 1000)
        line = process.stdout.readline() if ready else ""
        if not line.endswith("\n"):
            process.kill()
            process.wait()
            process.stdout.close()
            return dict(state="died" if ready else "time-limit", why=f"not done in {self.limit:g} s" if not ready else "")
        answer = json.loads(line)
        if answer.get("ends"):
            process.wait()
        return answer

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
