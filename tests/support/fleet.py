# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Several latchd nodes over a Redis and a MySQL, each behind gates of its own.

    fleet = Fleet(case, case.redis(), case.mariadb(), count=3)
    fleet.wait_for_tier("redis")
    fleet.gates("b")["mysql"].cut()     # node b alone loses MySQL

A node's folders, name and port stay its own over kill() and restart().
"""

import mariadb
from gate import Gate
from program import FULL, wait_until
from resp_client import Error

# `pay` is strict, `order` is available; what is not listed is available, too.
RESOURCES = """resources:
  list:
    - {name: pay, safety: strict, degrade: mysql}
    - {name: order, safety: available, degrade: mysql}
"""


# Where Redis is its own arbiter nothing can be strict.
ALONE = """resources:
  list:
    - {name: order, safety: available}
"""
VIEW_LEASE = 10 if FULL else 4  # seconds; the short form of a test waits less


def config_text(redis, mysql, hold_down="1s", resources=RESOURCES, local=False, extra="",
                available_max="10m"):
    """YAML of a node; redis and mysql are addresses, either may be None."""
    text = "log: {rate_limit: 1000/1s}\n" + extra + "stores:\n"
    if redis:
        text += f"  - {{name: redis, type: redis, address: '{redis[0]}:{redis[1]}'}}\n"
    if mysql:
        text += (f"  - {{name: mysql, type: mysql, address: '{mysql[0]}:{mysql[1]}', "
                 f"username: {mariadb.USER}, password: {mariadb.PASSWORD}, "
                 f"database: {mariadb.DATABASE}}}\n")
    if local:
        text += "  - {name: local, type: local}\n"
    if redis and mysql:
        text += (f"authority: {{view_lease: {VIEW_LEASE}s, beat: {VIEW_LEASE / 5 * 1000:.0f}ms, "
                 f"hold_down: {hold_down}, hold_down_max: {hold_down}, "
                 f"available_max: {available_max}}}\n")
    return text + resources


class Fleet:
    """`nodes` is {name: Latchd}; names are a, b, c … or n1, n2 … of more than 26. Not `gated`: the
    nodes talk to the stores themselves, as where times are measured."""

    def __init__(self, case, redis, mysql, count=3, environments=None, gated=True, **config):
        self.case, self.redis, self.mysql, self._gated = case, redis, mysql, gated
        self.nodes, self._gates, self._texts = {}, {}, {}
        for i in range(count):
            name = chr(ord("a") + i) if count <= 26 else f"n{i + 1}"
            self.add(name, (environments or {}).get(name), **config)

    def add(self, name, environment=None, **config):
        """Starts one node more; doesn't wait until it serves."""
        stores = {"redis": self.redis, "mysql": self.mysql}
        self._gates[name] = {}
        if self._gated:
            for kind, store in stores.items():
                stores[kind] = store and Gate(store.address)
                if store:
                    self._gates[name][kind] = stores[kind]
                    self.case.addCleanup(stores[kind].close)
        self._texts[name] = config_text(*(store and store.address for store in stores.values()),
                                        **config)
        self.nodes[name] = self.case.latchd("--node", name, serves=False,
                                            config=self.config_of(name), environment=environment)
        return self.nodes[name]

    def config_of(self, name):
        return self._texts[name]

    def __getitem__(self, name):
        return self.nodes[name]

    def __iter__(self):
        return iter(self.nodes.values())

    @property
    def names(self):
        return list(self.nodes)

    @property
    def alive(self):
        return [node for node in self if node.is_running() and not node.is_frozen()]

    def gates(self, *names):
        """The gates of a node; of several nodes, one list by kind."""
        if len(names) == 1:
            return self._gates[names[0]]
        return {kind: [self._gates[name][kind] for name in names or self.names]
                for kind in ("redis", "mysql")}

    def open_gates(self):
        for gates in self._gates.values():
            for gate in gates.values():
                gate.pass_all()

    def lead_to(self, kind, store, ends_old=True):
        """Every node's name for it leads to this server from now on, as after a failover."""
        for gates in self._gates.values():
            gates[kind].lead_to(store.address, ends_old)

    # ---- what they say

    @staticmethod
    def status(node):
        reply = node.ask("LATCHD", "STATUS")
        if isinstance(reply, Error):
            raise ConnectionError(reply)
        reply = reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))
        return {key.decode(): value.decode() if isinstance(value, bytes) else value
                for key, value in reply.items()}

    def summary(self):
        lines = []
        for name, node in self.nodes.items():
            try:
                lines.append(f"{name}: {self.status(node)}" if node in self.alive else f"{name}: -")
            except (ConnectionError, TimeoutError) as error:
                lines.append(f"{name}: {error}")
        return "\n".join(lines)

    def epochs(self, nodes=None):
        return [self.status(node)["epoch"] for node in nodes or self.alive]

    def epoch(self):
        """The highest that a living node knows."""
        return max(self.epochs())

    def _wait(self, predicate, deadline, what):
        try:
            return wait_until(predicate, deadline, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.summary()}") from None

    def wait_for_tier(self, tier, nodes=None, deadline=10.0, resource="harness"):
        """Returns once each node grants a lock from this tier."""
        def grants(node):
            reply = node.ask("LOCK", resource, f"ready-{node.folder.name}", "PX", 2000,
                             "OWNER", node.folder.name)
            if not isinstance(reply, list):
                return False
            node.ask("UNLOCK", resource, f"ready-{node.folder.name}", reply[0])
            return tier is None or reply[4] == tier.encode()
        for node in nodes or self.alive:
            self._wait(lambda node=node: grants(node), deadline,
                       f"{node.folder.name} granting {resource} from {tier}")
        return self

    def wait_for_strict(self, tier=None, nodes=None, deadline=15.0):
        """Returns once each node grants locks of the strict resource."""
        return self.wait_for_tier(tier, nodes, deadline, "pay")

    def wait_for_epoch_above(self, epoch, nodes=None, deadline=10.0):
        """Returns once each node knows a later one."""
        self._wait(lambda: min(self.epochs(nodes)) > epoch, deadline, f"an epoch above {epoch}")
        return self

