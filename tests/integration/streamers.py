"""A detector that reads along (`protocol: stream`), as docs/streaming-detector.md says: requests are
checked to the letter. It finds the word `bad`, case ignored, and makes up its mind at every blank.

    streamer = streamers.Streamer()
    streamer.answer = lambda stream: …      what it does with the text so far; see judge
    streamer.streams                        every request, with its lines
"""

import asyncio
import json
import re
import threading

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

PATH = "/api/v2/text/detection/stream-content"
FINDING = {"detection": "badness", "detection_type": "test", "score": 0.9}


class Stream:
    def __init__(self, connection, number, headers):
        self.connection, self.number, self.headers = connection, number, headers
        self.lines, self.text, self.mark, self.rest = [], "", 0, b""
        self.has_end = self.is_over = False

    def take(self, data):
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            body = json.loads(line)
            if not self.lines:
                assert set(body) == {"detectors", "aggregation", "content"}, body
                assert body["aggregation"] == "aligned"
                assert len(body["detectors"]) == 1
            else:
                assert set(body) == {"content"}, body
            assert body["content"]
            self.lines.append(body)
            self.text += body["content"]

    def send(self, *objects, end=False):
        data = b"".join(json.dumps(one).encode() + b"\n" for one in objects)
        self.send_raw(data, end)

    def send_raw(self, data, end=False):
        if not self.is_over:
            self.connection.h2.send_data(self.number, data, end_stream=end)
            self.is_over = end

    def head(self, status=200, end=False):
        self.connection.h2.send_headers(self.number, [(":status", str(status))], end_stream=end)
        self.is_over = end

    def reset(self):
        self.is_over = True
        self.connection.h2.reset_stream(self.number, h2.errors.ErrorCodes.INTERNAL_ERROR)

    def hang_up(self):
        self.is_over = True
        self.connection.transport.abort()

    def tell(self, end, found=None, last=False):
        """The usual line: all that is found up to there."""
        if found is None:
            found = [{"start": m.start(), "end": m.end(), "text": m.group(), **FINDING}
                     for m in re.finditer("bad", self.text[:end], re.I) if m.start() >= self.mark]  # fmt: skip
        before, self.mark = self.mark, end
        self.send({"detections": found, "start_index": before, "processed_index": end}, end=last)


def judge(stream):
    """Called when the request has come, when lines of its body have, and at its end."""
    if not stream.lines:
        stream.head()
        return
    if stream.has_end:
        stream.tell(len(stream.text), last=True)
    elif stream.text.rfind(" ") + 1 > stream.mark:
        stream.tell(stream.text.rfind(" ") + 1)


class Connection(asyncio.Protocol):
    def __init__(self, owner):
        self.owner, self.streams = owner, {}

    def connection_made(self, transport):
        self.transport = transport
        self.owner.connections.add(self)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.flush()

    def connection_lost(self, error):
        self.owner.connections.discard(self)
        for stream in self.streams.values():
            stream.is_over = True

    def flush(self):
        self.transport.write(self.h2.data_to_send())

    def data_received(self, data):
        for event in self.h2.receive_data(data):
            number = getattr(event, "stream_id", None)
            if isinstance(event, h2.events.RequestReceived):
                self.begin(number, dict(event.headers))
            elif isinstance(event, h2.events.DataReceived) and number in self.streams:
                self.h2.acknowledge_received_data(event.flow_controlled_length, number)
                stream = self.streams[number]
                n_before = len(stream.lines)
                stream.take(event.data)
                if len(stream.lines) > n_before:
                    self.owner.answer_safely(stream)
            elif isinstance(event, h2.events.StreamEnded) and number in self.streams:
                self.streams[number].has_end = True
                self.owner.answer_safely(self.streams[number])
            elif isinstance(event, h2.events.StreamReset) and number in self.streams:
                self.streams[number].is_over = True
        self.flush()

    def begin(self, number, headers):
        if headers[":method"] == "GET":
            self.h2.send_headers(number, [(":status", "200")], end_stream=True)
            return
        assert (headers[":method"], headers[":path"]) == ("POST", PATH)
        assert headers["content-type"] == headers["accept"] == "application/x-ndjson"
        stream = self.streams[number] = Stream(self, number, headers)
        self.owner.streams.append(stream)
        self.owner.answer_safely(stream)


class Streamer:
    def __init__(self):
        self.answer, self.streams, self.connections, self.errors = judge, [], set(), []
        ready = threading.Event()

        def run():
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
            server = self.loop.run_until_complete(self.loop.create_server(lambda: Connection(self), "127.0.0.1", 0))
            self.port = server.sockets[0].getsockname()[1]
            self.server = server
            ready.set()
            self.loop.run_forever()

        threading.Thread(target=run, daemon=True).start()
        ready.wait()

    def answer_safely(self, stream):
        if stream.is_over:
            return
        try:
            self.answer(stream)
        except h2.exceptions.StreamClosedError:  # reset by the gateway, later in the same read
            stream.is_over = True
        except Exception as error:  # shown by the test
            self.errors.append(error)
            raise

    def config(self, **more):
        return {"type": "text_contents", "protocol": "stream",
                "service": {"hostname": "127.0.0.1", "port": self.port}, **more}  # fmt: skip

    def n_open(self):
        return sum(not stream.is_over for stream in self.streams)

    def call(self, fn, *args):
        """On the service's own thread, and sent."""

        def run():
            fn(*args)
            for connection in self.connections:
                connection.flush()

        self.loop.call_soon_threadsafe(run)

    def close(self):
        self.loop.call_soon_threadsafe(self.server.close)
        for connection in list(self.connections):
            self.loop.call_soon_threadsafe(connection.transport.abort)
