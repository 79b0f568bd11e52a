"""Plays one script to one program: caller, model server, chunkers and detectors, step by step.

A step is one thing that a peer says (the model's next write, one detector's answer, the caller
leaving) and everything the program does because of it. Where the next step may begin is not a
matter of time: the Fence asks the program itself. So the same script gives the same transcript on
any machine, and a transcript shows not only what left but what it had to wait for.
"""

import random
import socket

import answers
import scripts
import servers
import wire
from grpcpeer import GrpcConn

# Round trips in which a stream must be silent before it counts as quiet. One is what a cause takes
# to its effect within the program; a new connection towards a service takes two.
QUIET_ROUNDS = 4
STALL_SECONDS = 1  # nothing depends on the clock: who is quiet and owes something will not pay
# What differs from run to run, or says nothing: not recorded.
NOT_RECORDED = {"date", "x-request-id", "host", "traceparent", "x-play", "content-length",
                "grpc-timeout", "connection", "keep-alive"}  # fmt: skip


class Fence(wire.Conn):
    """Learns when a program is quiet.

    Asks it, on a connection of its own, a question that goes through the same queues as everything
    else: sockets are read in the order in which they became readable, and long work is done in
    steps that take turns. When the answer is here, what was sent before the question has been read
    and what it caused has left, or will before the next answer. That needs all of them on one
    processor (`bench.on_one_cpu`): a busy kernel keeps packets in a queue per processor, and one
    in another queue may overtake. `round` counts the questions."""

    REQUEST = (
        f"POST {servers.FENCE_PATH} HTTP/1.1\r\nhost: fence\r\n"
        f"detector-id: {servers.FENCE_DETECTOR}\r\ncontent-type: application/json\r\n"
        'content-length: 39\r\n\r\n{"contents":["a"],"detector_params":{}}'
    ).encode()

    def __init__(self, loop, port):
        super().__init__(loop, socket.create_connection(("127.0.0.1", port)))
        self.round = 0
        self.is_asking = False
        self.waiting = set()
        self.answer = None
        self.has_ended = False

    def add(self, play):
        self.waiting.add(play)
        if not self.is_asking:
            self.ask()

    def ask(self):
        self.round += 1
        self.is_asking = True
        self.answer = wire.Answer()
        self.send(self.REQUEST)

    def on_data(self, data):
        self.answer.take(data)
        if self.answer.is_complete:
            # Not now: other sockets of this turn may have something that was sent earlier.
            self.loop.later.append(self.on_round)

    def on_round(self):
        self.is_asking = False
        quiet = [p for p in self.waiting if self.round - p.touched >= p.quiet_rounds]
        for play in sorted(quiet, key=lambda p: p.number):
            self.waiting.discard(play)
            play.advance()
        if self.waiting and not self.is_asking:
            self.ask()

    def on_end(self):
        self.has_ended = True
        for play in list(self.waiting):
            play.finish("the program ended")
        self.waiting.clear()


class Side:
    """One program with one configuration, and the peers it talks to."""

    def __init__(self, loop, program, kind, alter=None):
        self.loop = loop
        self.alter = alter
        self.plays = {}
        self.http = wire.Listener(loop, self.accept_http)
        self.grpc = wire.Listener(loop, self.accept_grpc)
        self.server = servers.Server(program, kind, self.http.port, self.grpc.port)
        self.fence = Fence(loop, self.server.api_port)

    def accept_http(self, sock):
        return wire.RequestConn(self.loop, sock, self.on_request, self.on_gone)

    def accept_grpc(self, sock):
        return GrpcConn(self.loop, sock, self.play_of)

    def play_of(self, fields):
        return self.plays.get(fields.get("x-play"))

    def on_request(self, conn, line, fields, body):
        play = self.play_of(fields)
        if play is None:  # of a stream that is over
            conn.close()
            return
        play.on_call(Call(conn, line, fields, body))

    def on_gone(self, conn):
        for play in list(self.plays.values()):
            play.on_gone(conn)

    def counters(self):
        """Of the program, without what the fence has asked. An answer is counted behind its last
        byte, a little later than we have read it: hence `sweep` may ask twice."""
        found = self.server.counters()
        name = 'weir_http_requests_total{listener="api",status="2xx"}'
        found[name] = str(int(found[name]) - self.fence.round)
        # Whether a call that is given up had just been answered is a race; transcripts have which
        # calls were given up before.
        for name in [n for n in found if 'result="canceled"' in n]:
            answered = name.replace("canceled", "2xx")
            found[answered] = str(int(found.get(answered, 0)) + int(found.pop(name)))
        return {name: value for name, value in found.items() if "health" not in name}

    def stop(self):
        self.fence.close()
        said = self.server.stop()
        self.http.close()
        self.grpc.close()
        return said


class Call:
    """A request of the program to a service."""

    def __init__(self, conn, line, fields, body):
        self.conn = conn
        self.path = line.split(" ")[1]
        self.who = fields.get("detector-id", self.path)
        self.body = body.decode("utf-8", "backslashreplace")
        kept = sorted(f"{n}: {v}" for n, v in fields.items() if n not in NOT_RECORDED)
        self.text = "\n".join([line, *kept, "", self.body])
        self.key = (self.who, self.body)
        self.step = 0

    def say(self, said):
        status, body = said
        data = (body or "").encode()
        n = len(data) if body is not None else 99
        head = f"HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\n"
        self.conn.send(f"{head}content-length: {n}\r\n\r\n".encode() + data)
        if body is None:
            # Not before the head: a call on a connection that was kept is then made again, and
            # whether it was kept depends on the other streams.
            self.conn.close()


class Owed:
    """What a chunker's stream has to say."""

    def __init__(self, stream, step):
        self.conn = stream
        self.who = "chunky"
        self.key = (self.who, stream.chunker.text)
        self.step = step


class CallerConn(wire.Conn):
    def __init__(self, loop, port, play):
        super().__init__(loop, socket.create_connection(("127.0.0.1", port)))
        self.play = play

    def on_data(self, data):
        self.play.on_answer(data)

    def on_end(self):
        self.play.on_answer_cut()


class Play:
    """One script on one side. `transcript` is what is compared."""

    def __init__(self, side, number, script, done, quiet_rounds=QUIET_ROUNDS):
        self.side = side
        self.number = number
        self.script = script
        self.done = done
        self.quiet_rounds = quiet_rounds
        self.touched = 0
        self.timing = script["timing"]
        self.is_race = self.timing["class"] == "race"
        self.source = scripts.render(script)
        self.n_sent = 0
        self.n_steps = 0
        self.n_answered = {}
        self.random = random.Random(script["timing"].get("shuffle", 0))
        self.pending = []
        self.model = None
        self.answer = wire.Answer()
        self.answer_end = None
        self.caller = None
        self.transcript = []
        self.step = {"after": "the request"}
        self.is_over = False
        self.stall = None

    # --- the beginning ---

    def start(self):
        self.side.plays[str(self.number)] = self
        self.caller = CallerConn(self.side.loop, self.side.server.api_port, self)
        self.caller.send(scripts.request(self.script, self.number))
        self.touch()
        if self.is_race and self.script["source"] == "caller":
            self.send_rest()
        self.side.fence.add(self)

    def touch(self):
        """Something happened: it is not quiet."""
        self.touched = self.side.fence.round
        if self.stall is not None:
            self.stall = None
            self.side.fence.add(self)

    def note(self, name, value):
        self.touch()
        self.step.setdefault(name, []).append(value)

    # --- what the program does ---

    def on_answer(self, data):
        if self.is_over:
            return
        head_was_there = self.answer.status is not None
        body = self.answer.take(data)
        if self.side.alter and b"data:" in body:
            body = self.side.alter(body)
        if not head_was_there and self.answer.status is not None:
            fields = self.answer.fields
            kept = sorted(f"{n}: {v}" for n, v in fields.items() if n not in NOT_RECORDED)
            self.note("caller", "\n".join([str(self.answer.status), *kept, "", ""]))
        if body:
            self.note("caller", body.decode("utf-8", "backslashreplace"))
        self.touch()
        if self.answer.is_complete and self.answer_end is None:
            self.answer_end = "complete"

    def on_answer_cut(self):
        self.touch()
        if self.answer_end is None:
            self.answer_end = "cut"

    def on_call(self, call):
        call.step = self.n_sent
        if scripts.is_model(call.path):
            self.note("model", call.text)
            self.set_model(call.conn)
        else:
            self.note("calls", call.text)
            self.pending.append(call)
            if self.is_race:
                self.say(call)

    def on_owing(self, stream):
        self.touch()
        if any(call.conn is stream for call in self.pending):
            return
        owed = Owed(stream, self.n_sent)
        self.pending.append(owed)
        if self.is_race:
            self.say(owed)

    def set_model(self, conn):
        """The connection or gRPC stream on which the model server will speak."""
        self.model = conn
        if self.is_race and self.script["source"] != "caller":
            self.send_rest()

    def on_gone(self, conn):
        if conn is self.model and not self.is_over:
            self.model = None
            self.note("gone", "the model server's connection")
        for call in [c for c in self.pending if c.conn is conn]:
            self.pending.remove(call)
            self.note("gone", f"a call of {call.who}")

    # --- the next step ---

    def advance(self):
        self.end_step()
        if self.is_over:
            return
        if self.answer_end is not None or self.caller is None:
            self.finish(self.answer_end or "left")
        elif self.script.get("leave") == self.n_steps:
            self.leave()
        elif (call := self.next_call()) is not None:
            self.say(call)
        elif self.can_send():
            self.send_next()
        else:
            self.wait_for_stall()
            return
        if not self.is_over:
            self.touch()
            self.side.fence.add(self)

    def end_step(self):
        step = self.step
        for name in ("calls", "model", "gone"):
            if name in step:
                step[name].sort()
        if "caller" in step:
            step["caller"] = "".join(step["caller"])
        self.transcript.append(step)
        self.n_steps += 1
        self.step = {"after": ""}

    def leave(self):
        self.step["after"] = "the caller left"
        self.caller.close()
        self.caller = None

    def next_call(self):
        """The pending call whose turn it is to be answered."""
        hold = self.timing["hold"]
        is_last = not self.can_send()
        due = [c for c in self.pending if is_last or (hold >= 0 and self.n_sent - c.step >= hold)]
        if not due:
            return None
        due.sort(key=lambda call: (call.step, call.key))
        order = self.timing["order"]
        return due[0 if order == "forward" else -1] if order != "shuffle" else self.random.choice(due)

    def say(self, call):
        self.pending.remove(call)
        if isinstance(call, Owed):
            self.step["after"] = f"what {call.who} has found"
            call.conn.say_owed()
            return
        fault = self.fault_of(call.who)
        n = self.n_answered[call.who]
        self.step["after"] = f"answer {n} of {call.who}" + (f" ({fault})" if fault else "")
        call.say(answers.answer(call.path, call.body, fault))

    def fault_of(self, who):
        """How its next answer is to be spoiled."""
        n = self.n_answered.get(who, 0)
        self.n_answered[who] = n + 1
        kinds = [f["kind"] for f in self.script["faults"] if f["who"] == who and f["nth"] == n]
        return kinds[0] if kinds else None

    def speaker(self):
        return self.caller if self.script["source"] == "caller" else self.model

    def can_send(self):
        return self.n_sent < len(self.source) and self.speaker() is not None

    def send_next(self):
        piece = self.source[self.n_sent]
        self.n_sent += 1
        self.step["after"] = f"write {self.n_sent} of {len(self.source)}"
        if piece is None:
            self.speaker().close()
            if self.script["source"] == "caller":
                self.caller = None
            else:
                self.model = None
        else:
            self.speaker().send(piece)
        if self.n_sent == len(self.source) and self.script["source"] != "caller":
            self.model = None  # all said: its end is no news

    def send_rest(self):
        while self.can_send():
            self.send_next()

    # --- the end ---

    def wait_for_stall(self):
        """Nobody owes anything but the program: it has some real time, then it has stalled."""
        self.stall = mark = object()
        self.step["after"] = "time"

        def check():
            if self.stall is mark and not self.is_over:
                self.end_step()
                self.finish("stalled")

        self.side.loop.after(STALL_SECONDS, check)

    def finish(self, how):
        self.is_over = True
        for call in self.pending:
            self.step.setdefault("left", []).append(f"a call of {call.who}")
            call.conn.close()
        if self.model is not None and self.can_send():
            self.step.setdefault("left", []).append("the model server's connection")
            self.model.close()
        self.step["after"] = f"the end: {how}"
        self.transcript.append(self.step)
        self.side.plays.pop(str(self.number), None)
        self.side.fence.waiting.discard(self)
        if self.caller is not None:
            self.caller.close()
        self.done(self)
