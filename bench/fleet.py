#!/usr/bin/env python3
"""fleet.py: what it costs that many ranks of a job start at once and want the same kernels, by a simulation of
docs/caches.md: nothing shared, a folder for each machine, a remote cache that is empty, and one that is full.

    bench/fleet.py --ranks 10000 --per-node 8 --kernels 60 --compile-ms 237 --hit-us 25 --small-us 23 --bytes 16155

The ranks want the kernels in one order, and begin within --spread-ms. Ranks of a machine share its folder and its leases
(lease.c), so one of them speaks to the remote at a time. The server answers one after the other: --small-us for a
command without an entry, --hit-us and the bytes on its network (--gbits) for one with. Polls are those of lease.c."""
import argparse
import heapq
import random

FIRST_POLL_MS, DOUBLINGS, LEASE_POLLS = 25, 4, 4  # of lease.c


class Server:
    """A queue: when a command that arrives at a time is answered, and what that took."""
    def __init__(self, options):
        self.options, self.free, self.commands, self.worst = options, 0.0, 0, 0.0

    def answer(self, now, with_entry):
        o = self.options
        service = o.hit_us / 1e3 + o.bytes * 8 / (o.gbits * 1e6) if with_entry else o.small_us / 1e3
        self.free = max(self.free, now) + service
        self.commands += 1
        self.worst = max(self.worst, self.free - now)
        return self.free + o.network_us / 1e3


def remote(options, filled):
    """Machines step by step: each wants kernel after kernel. Milliseconds until the last is done, compilations."""
    rng, server = random.Random(1), Server(options)
    stored = [filled] * options.kernels
    holder, compiled, end = [None] * options.kernels, 0, 0.0
    nodes = -(-options.ranks // options.per_node)
    events = [(rng.uniform(0, options.spread_ms), node, 0, 0, "get") for node in range(nodes)]
    heapq.heapify(events)

    def later(time, node, kernel, polls, what):
        heapq.heappush(events, (time, node, kernel, polls, what))

    while events:
        now, node, kernel, polls, what = heapq.heappop(events)
        if kernel == options.kernels:
            end = max(end, now)
        elif what == "set":
            stored[kernel] = True
            later(server.answer(now, True), node, kernel, 0, "release")
        elif what == "release":
            later(server.answer(now, False), node, kernel + 1, 0, "get")
        elif what == "lease":
            answered = server.answer(now, False)
            if holder[kernel] is None:
                holder[kernel] = node
                compiled += 1
                later(answered, node, kernel, polls, "get")
            else:
                later(answered + pause(rng, polls), node, kernel, polls + 1, "get")
        else:
            answered = server.answer(now, stored[kernel])
            if stored[kernel]:
                later(answered + options.disk_ms, node, kernel + 1, 0, "get")
            elif holder[kernel] == node:
                later(answered + options.compile_ms, node, kernel, 0, "set")
            elif polls % LEASE_POLLS == 0:
                later(answered, node, kernel, polls, "lease")
            else:
                later(answered + pause(rng, polls), node, kernel, polls + 1, "get")
    return end, compiled, server


def pause(rng, polls):
    return (FIRST_POLL_MS << min(polls, DOUBLINGS)) * rng.uniform(0.5, 1.5)


def row(name, end_ms, compiled, options, server=None):
    cpu = compiled * options.compile_ms / 3.6e6
    queue = f"{server.commands / max(end_ms, 1) :.1f} | {server.worst:.0f}" if server else "- | -"
    print(f"| {name} | {compiled} | {cpu:.2f} | {end_ms / 1e3:.1f} | {queue} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=10000)
    parser.add_argument("--per-node", type=int, default=8)
    parser.add_argument("--kernels", type=int, default=60)
    parser.add_argument("--compile-ms", type=float, default=237, help="a kernel, to cubin")
    parser.add_argument("--disk-ms", type=float, default=0.2, help="a kernel from a machine's own folder")
    parser.add_argument("--hit-us", type=float, default=25, help="the server, a GET that finds an entry")
    parser.add_argument("--small-us", type=float, default=23, help="the server, any other command")
    parser.add_argument("--network-us", type=float, default=200, help="there and back")
    parser.add_argument("--bytes", type=int, default=16155, help="of an entry")
    parser.add_argument("--gbits", type=float, default=10, help="of the server's network")
    parser.add_argument("--spread-ms", type=float, default=2000, help="within which ranks begin")
    o = parser.parse_args()
    nodes = -(-o.ranks // o.per_node)
    alone = o.kernels * o.compile_ms + o.spread_ms
    print("| | compilations | CPU hours | seconds until the last rank has all | commands a ms | longest answer, ms |")
    print("|---|---|---|---|---|---|")
    row("nothing shared", alone, o.ranks * o.kernels, o)
    row("a folder for each machine", alone, nodes * o.kernels, o)
    for name, filled in (("remote, empty", False), ("remote, filled", True)):
        end, compiled, server = remote(o, filled)
        row(name, end, compiled, o, server)


if __name__ == "__main__":
    main()
