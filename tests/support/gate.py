# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""A TCP gate between latchd and its store, opened and shut by method calls.

    gate = Gate(redis.address)
    latchd = case.latchd("--store", gate.url)
    gate.drop(DOWN)          # requests reach the store, its replies are thrown away

UP is from latchd to the store, DOWN the way back. A setting counts for the connections that are
there and for later ones, unless it says `only_current`. One thread carries all bytes; it ends with
close(). All methods are safe from any thread and return once the setting counts.
"""

import collections
import selectors
import socket
import threading
import time

UP, DOWN = "up", "down"
BOTH = (UP, DOWN)
_CHUNK = 1 << 16
_RST = b"\1\0\0\0\0\0\0\0"


class _Settings:
    """What happens to the bytes of one direction."""

    def __init__(self):
        self.mode = "pass"  # pass, hold (kept until passed again), drop (thrown away)
        self.delay = 0.0  # seconds
        self.budget = None  # bytes until both ends are reset; None: no end

    def copy(self):
        other = _Settings()
        other.__dict__ |= self.__dict__
        return other


class _Flow:
    """One direction of one connection."""

    def __init__(self, source, sink, settings):
        self.source, self.sink, self.settings = source, sink, settings
        self.waiting = collections.deque()  # (when it is due, bytes)
        self.out = bytearray()
        self.is_over = False  # the source has ended
        self.is_shut = False  # the sink was told
        self.is_orphan = False  # the sink is gone
        self.has_lost = False  # bytes were thrown away


class _Pair:
    def __init__(self, near, far, settings):
        self.near, self.far = near, far
        self.flows = {UP: _Flow(near, far, settings[UP].copy()),
                      DOWN: _Flow(far, near, settings[DOWN].copy())}


class Gate:
    """Listens on a port of its own and carries each connection on to `target` (host, port)."""

    def __init__(self, target, login=""):
        self.target = target
        self.login = login
        self.carried = {UP: 0, DOWN: 0}  # bytes
        self.accepted = 0  # connections
        self._settings = {UP: _Settings(), DOWN: _Settings()}
        self._pairs = []
        self._refuses = False
        self._lock = threading.RLock()
        self._selector = selectors.DefaultSelector()
        self._waker, self._wakened = socket.socketpair()
        self._wakened.setblocking(False)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._listener.setblocking(False)
        self._selector.register(self._wakened, selectors.EVENT_READ, None)
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def address(self):
        return self._listener.getsockname()

    @property
    def url(self):
        return f"redis://{self.login}127.0.0.1:{self.address[1]}"

    @property
    def connections(self):
        with self._lock:
            return len(self._pairs)

    def is_holding(self, text, direction):
        """Whether these bytes are among those that are held or delayed."""
        with self._lock:
            return any(text in b"".join(data for _, data in pair.flows[direction].waiting)
                       for pair in self._pairs)

    # ---- settings

    def pass_all(self):
        """Everything passes again, what was held first. A connection that has lost bytes ends: TCP
        never goes on behind a gap."""
        with self._change():
            self._refuses = False
            for pair in list(self._pairs):
                if any(flow.has_lost and not flow.is_orphan for flow in pair.flows.values()):
                    self._end(pair)
            for settings in self._all(BOTH, only_current=False):
                settings.mode, settings.delay, settings.budget = "pass", 0.0, None

    def hold(self, *directions, only_current=False):
        """Bytes are kept until pass_all()."""
        with self._change():
            for settings in self._all(directions, only_current):
                settings.mode = "hold"

    def drop(self, *directions, only_current=False):
        """Bytes are thrown away, as if the network had taken them."""
        with self._change():
            for settings in self._all(directions, only_current):
                settings.mode = "drop"

    def delay(self, milliseconds, *directions):
        """Bytes that arrive from now on leave so much later, in their order."""
        with self._change():
            for settings in self._all(directions or BOTH, only_current=False):
                settings.delay = milliseconds / 1000

    def cut_after(self, count, direction, only_current=True):
        """Resets a connection after `count` further bytes of the direction."""
        with self._change():
            for settings in self._all((direction,), only_current):
                settings.budget = count

    def reset(self):
        """Ends all connections by RST, on both sides."""
        with self._change():
            for pair in list(self._pairs):
                self._end(pair)

    def orphan(self):
        """latchd's end of all connections is reset; what it has sent goes on to the store, or is
        held and goes there by pass_all(), as from a network that delivers late."""
        with self._change():
            for pair in self._pairs:
                try:
                    self._selector.unregister(pair.near)
                except (KeyError, ValueError):
                    pass
                self._reset_socket(pair.near)
                pair.flows[UP].is_over = True
                pair.flows[DOWN].settings.mode = "drop"
                pair.flows[DOWN].is_orphan = True

    def half_close(self, direction):
        """The receiver of the direction sees the end of it; the other direction goes on."""
        with self._change():
            for pair in self._pairs:
                flow = pair.flows[direction]
                flow.is_over = True
                flow.waiting.clear()
                flow.out.clear()

    def refuse(self):
        """Resets all connections, and new ones at once, until pass_all()."""
        with self._change():
            self._refuses = True
            for pair in list(self._pairs):
                self._end(pair)

    def cut(self):
        """Nothing passes in either direction, as behind a pulled cable: bytes are lost without a
        word, and new connections stay silent."""
        self.drop(UP, DOWN)

    def lead_to(self, target, ends_old=True):
        """New connections lead to this (host, port), as when a name moved; those that are there
        end, or go on to where they led."""
        with self._change():
            self.target = target
            for pair in list(self._pairs) if ends_old else ():
                self._end(pair)

    def close(self):
        with self._change():
            self._is_closed = True
        self._thread.join()

    def _all(self, directions, only_current):
        for direction in directions:
            if not only_current:
                yield self._settings[direction]
            for pair in self._pairs:
                yield pair.flows[direction].settings

    def _change(self):
        gate = self

        class Changing:
            def __enter__(self):
                gate._lock.acquire()

            def __exit__(self, *_):
                gate._lock.release()
                try:
                    gate._waker.send(b"x")
                except OSError:
                    pass

        return Changing()

    # ---- the thread

    def _run(self):
        while True:
            with self._lock:
                if self._is_closed:
                    break
                pause = self._move_all()
            for key, _ in self._selector.select(pause):
                if key.fileobj is self._wakened:
                    self._wakened.recv(_CHUNK)
                elif key.fileobj is self._listener:
                    self._accept()
                else:
                    self._read(*key.data)
        with self._lock:
            for pair in list(self._pairs):
                self._end(pair)
            for each in (self._listener, self._waker, self._wakened, self._selector):
                each.close()

    def _accept(self):
        try:
            near, _ = self._listener.accept()
        except OSError:
            return
        with self._lock:
            self.accepted += 1
            try:
                if self._refuses:
                    raise ConnectionRefusedError
                far = socket.create_connection(self.target, timeout=5)
            except OSError:
                self._reset_socket(near)
                return
            pair = _Pair(near, far, self._settings)
            for direction, flow in pair.flows.items():
                flow.source.setblocking(False)
                flow.source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._selector.register(flow.source, selectors.EVENT_READ, (pair, direction))
            self._pairs.append(pair)

    def _read(self, pair, direction):
        with self._lock:
            if pair not in self._pairs:
                return
            flow = pair.flows[direction]
            try:
                data = flow.source.recv(_CHUNK)
            except BlockingIOError:
                return
            except OSError:
                self._end(pair)
                return
            if not data:
                flow.is_over = True
                self._selector.unregister(flow.source)
            elif flow.settings.mode == "drop":
                flow.has_lost = True
            else:
                flow.waiting.append((time.monotonic() + flow.settings.delay, data))

    def _move_all(self):
        """Sends what is due; returns the seconds until the next is, or None."""
        now, pause = time.monotonic(), None
        for pair in list(self._pairs):
            for direction, flow in pair.flows.items():
                if pair not in self._pairs:
                    break
                self._move(pair, direction, flow, now)
                if flow.out:
                    pause = min(pause or 1.0, 0.002)
                elif flow.waiting and flow.settings.mode == "pass":
                    left = max(flow.waiting[0][0] - now, 0.0005)
                    pause = left if pause is None else min(pause, left)
        return pause

    def _move(self, pair, direction, flow, now):
        settings = flow.settings
        if settings.mode == "drop" or flow.is_orphan:
            flow.has_lost |= bool(flow.waiting or flow.out)
            flow.waiting.clear()
            flow.out.clear()
        elif settings.mode == "hold":
            return
        while flow.waiting and flow.waiting[0][0] <= now:
            flow.out += flow.waiting.popleft()[1]
        if flow.out:
            most = len(flow.out)
            if settings.budget is not None:
                most = min(most, settings.budget)
            try:
                sent = flow.sink.send(flow.out[:most]) if most else 0
            except BlockingIOError:
                sent = 0
            except OSError:
                self._end(pair)
                return
            del flow.out[:sent]
            self.carried[direction] += sent
            if settings.budget is not None:
                settings.budget -= sent
                if settings.budget == 0:
                    self._end(pair)
                    return
        if flow.is_over and not flow.waiting and not flow.out and not flow.is_shut:
            flow.is_shut = True
            try:
                flow.sink.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            if all(each.is_shut for each in pair.flows.values()):
                self._end(pair)

    @staticmethod
    def _reset_socket(each):
        try:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST)
        except OSError:
            pass
        each.close()

    def _end(self, pair):
        self._pairs.remove(pair)
        for each in (pair.near, pair.far):
            try:
                self._selector.unregister(each)
            except (KeyError, ValueError):
                pass
            self._reset_socket(each)
