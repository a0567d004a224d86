# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""A test that breaks something under latchd, with every operation in a history that is checked.

    def test_something(self):
        redis = self.redis()
        node = self.node(redis, "a")
        load = self.load([node], clients=20)
        ... the fault ...
        self.fault_is_over()
        load.stop()
        self.assert_all_is_well([node], redis)

Whatever the fault, assert_all_is_well() wants the same: each command ended within its deadline and
said what is known, no two holders, no falling fence, no stuck lock, and no ghost 2 s after the end.
"""

import re
import threading
import time

import harness
import stalls
from gate import Gate
from history import NOISE, History
from resp_client import Client

_EVENT = re.compile(r"(\w+) ([^/ ]+)/([^# ]+)#(\d+) ")


class Actor:
    """One client: a connection that is opened again when it ended. Not for two threads."""

    def __init__(self, history, address, name, timeout=10.0, node=""):
        self.history, self.address, self.name, self.timeout = history, address, name, timeout
        self.node = node
        self.client = None

    def _ask(self, operation, *words, timeout=None):
        try:
            if self.client is None:
                self.client = Client(self.address, timeout=self.timeout)
            reply = self.client.ask(*words, timeout=timeout)
        except (ConnectionError, TimeoutError, OSError):
            self.close()
            return None
        self.history.end(operation, reply)
        return reply

    def lock(self, resource, name, timeout=None, **options):
        """Options as on the wire; True for a flag. may_say: further errors that are right."""
        words = ["LOCK", resource, name]
        for option, value in options.items():
            if option.isupper() and value is not None:
                words += option.split("_") if value is True else [option, value]
        operation = self.history.begin("LOCK", (resource, name), options=options, actor=self.name,
                                       node=self.node)
        self.last = operation
        return self._ask(operation, *words, timeout=timeout)

    def unlock(self, resource, name, token):
        operation = self.history.begin("UNLOCK", (resource, name), token, actor=self.name,
                                       node=self.node)
        return self._ask(operation, "UNLOCK", resource, name, token)

    def renew(self, resource, name, token, **options):
        words = ["RENEW", resource, name, token]
        for option, value in options.items():
            words += [option] if value is True else [option, value]
        operation = self.history.begin("RENEW", (resource, name), token, options, self.name,
                                       self.node)
        return self._ask(operation, *words)

    def cancel(self, resource, name, request):
        operation = self.history.begin("CANCEL", (resource, name), actor=self.name,
                                       node=self.node)
        return self._ask(operation, "CANCEL", resource, name, request)

    def close(self):
        """Ends the connection; what KEEP renewed through it is only a lease from now on."""
        if self.client is None:
            return
        for grant in self.history.grants():
            if grant.actor == self.name and "KEEP" in grant.options:
                grant.options.setdefault("kept_until", time.monotonic())
        self.client.close()
        self.client = None


class Load:
    """Clients that lock and unlock a few locks over and over, each in a thread."""

    def __init__(self, case, nodes, clients, locks, options, resource="load"):
        self._case, self._is_over = case, threading.Event()
        self._locks, self._options, self._resource = locks, options, resource
        self.threads = []
        for i in range(clients):
            actor = case.actor(nodes[i % len(nodes)], f"load{i}")
            seed = case.random.randrange(1 << 30)
            thread = threading.Thread(target=self._run, args=(actor, seed), daemon=True)
            self.threads.append(thread)
        for thread in self.threads:
            thread.start()

    def _run(self, actor, seed):
        while not self._is_over.is_set():
            seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
            name = f"{(seed >> 8) % self._locks}"
            grant = actor.lock(self._resource, name, **self._options)
            if isinstance(grant, list):
                actor.unlock(self._resource, name, grant[0])
            else:
                self._is_over.wait(0.01)

    def stop(self):
        self._is_over.set()
        for thread in self.threads:
            thread.join(15)
            if thread.is_alive():
                raise AssertionError("a client of the load got no reply")

    def wait_for_grants(self, count, deadline=10.0):
        """Returns once `count` more were granted."""
        wanted = len(self._case.history.grants()) + count
        harness.wait_until(lambda: len(self._case.history.grants()) >= wanted, deadline,
                           f"{count} more grants")


class _Ear(threading.Thread):
    """Hears the events of one node."""

    def __init__(self, history, address):
        super().__init__(daemon=True)
        self._history, self._address = history, address
        self.is_over = False
        self.is_listening = threading.Event()
        self.client = None
        self.start()

    def run(self):
        while not self.is_over:
            try:
                with Client(self._address, timeout=5) as self.client:
                    self.client.ask("PSUBSCRIBE", "latchd:events:*")
                    self.is_listening.set()
                    while not self.is_over:
                        self._hear()
            except OSError:
                time.sleep(0.02)  # until the node, which may be down, is tried again

    def _hear(self):
        try:
            message = self.client.read(timeout=0.2)
        except TimeoutError:
            return
        match = _EVENT.match(message[-1].decode())
        if match:
            self._history.hear(match[1], (match[2], match[3]), int(match[4]))


class FaultCase(harness.Case):
    """Adds a history, actors, gates and the final judgement."""

    def setUp(self):
        super().setUp()
        self.history = History()
        self.history.stalled = stalls.machine().between
        self._actors, self._gates, self._ears, self._loads = [], [], [], []

    def _end_all(self):
        for load in self._loads:
            load._is_over.set()
        for ear in self._ears:
            ear.is_over = True
        for actor in self._actors:
            actor.close()
        super()._end_all()
        for gate in self._gates:
            gate.close()

    def some_time(self, low, high):
        """Lets a random time between these pass, in seconds: how long a fault lasts, or at what
        moment it comes. For something to have happened use wait_until()."""
        time.sleep(self.random.uniform(low, high))

    def gate(self, redis):
        login = f":{redis.password}@" if redis.password else ""
        gate = Gate(redis.address, login)
        self._gates.append(gate)
        return gate

    def actor(self, node, name="client", timeout=10.0):
        actor = Actor(self.history, node.address, name, timeout, node.folder.name)
        self._actors.append(actor)
        return actor

    def load(self, nodes, clients=20, locks=10, resource="load", **options):
        load = Load(self, nodes, clients, locks, {"PX": 2000} | options, resource)
        self._loads.append(load)
        return load

    def listen(self, *nodes):
        """Events of the nodes are part of the history from now on."""
        ears = [_Ear(self.history, node.address) for node in nodes]
        self._ears += ears
        for ear in ears:
            self.assertTrue(ear.is_listening.wait(5), "no SUBSCRIBE")

    def told(self, kind, lock=None):
        return [t for t in self.history.told if t.kind == kind and lock in (None, t.lock)]

    def wait_for_told(self, kind, lock=None, deadline=5.0):
        return harness.wait_until(lambda: self.told(kind, lock), deadline, f"event {kind}")[0]

    # ---- the end

    def fault_is_over(self):
        """From here on 2 s count."""
        self.history.fault_ended()

    def _left(self, seconds, at_least):
        """Seconds until so long after the end of the faults, with what a busy machine adds."""
        now = time.monotonic()
        end = self.history.faults_ended + (seconds + NOISE) * harness.SLOWNESS
        return max(end + self.history.stalled(self.history.faults_ended, now) - now, at_least)

    def release_all(self, node):
        """Releases what clients were granted and did not give back."""
        actor = self.actor(node, "release")
        for grant in self.history.unreleased():
            grant.options.setdefault("kept_until", time.monotonic())
            harness.wait_until(
                lambda grant=grant: actor.unlock(*grant.lock, grant.reply[0]) in (1, 0, -1),
                self._left(2.0, 4.0), f"UNLOCK of {grant}")

    def assert_no_ghosts(self, nodes, redis=None):
        """No key, no held lock, no waiter is left, at the latest 2 s after the fault's end."""
        def remains():
            found = [key.decode() for key in redis.keys("lock:*")] if redis else []
            found = [key for key in found if key != "lock:harness:ready"]
            for node in nodes:
                info = node.info("locks")
                found += [f"{node.folder.name}: {name} {info[name]}"
                          for name in ("locks_held", "locks_waiting") if info[name] != "0"]
            return found

        seen = []

        def is_clean():
            seen[:] = remains()
            return not seen
        try:
            harness.wait_until(is_clean, self._left(2.0, 0.5), "an end without ghosts")
        except AssertionError:
            self.fail(f"ghosts: {seen}; the last operations:\n" +
                      "\n".join(str(o) for o in self.history.operations[-12:]))

    def assert_good_history(self, **options):
        found = self.history.complaints(slowness=harness.SLOWNESS, **options)
        for line in self.history.excuses():
            print(f"{self.id()}: {line}", flush=True)
        if found:
            events = "\n".join(map(str, self.history.told[-10:]))
            self.fail(f"{len(found)} of {len(self.history.operations)} operations: " +
                      "\n".join(found[:6]) + f"\nevents:\n{events}")

    def assert_all_can_be_had(self, node, resources=None):
        """Every lock of the history (of these resources), by somebody new."""
        actor = self.actor(node, "after")
        for resource, name in sorted({o.lock for o in self.history.operations}):
            if resources and resource not in resources:
                continue
            grant = actor.lock(resource, name, PX=5000, WAIT=500)
            self.assertIsInstance(grant, list, f"can't be had: {actor.last}")
            self.assertEqual(actor.unlock(resource, name, grant[0]), 1)

    def assert_all_is_well(self, nodes, redis=None, **options):
        for node in nodes:
            node.wait_for_store(self._left(2.0, 0.5))
        self.release_all(nodes[0])
        self.assert_no_ghosts(nodes, redis)
        self.assert_all_can_be_had(nodes[-1])
        self.assert_good_history(**options)
