"""Messages of proto/ as Python classes, and gRPC calls with them over an insecure channel.

    channel = protos.Channel(port)
    answer = channel.unary(path, "….ChunkerTokenizationTaskRequest", "….TokenizationResults",
                           text=b"One. Two.")
    answer.results
"""

import functools
import subprocess
import tempfile
from pathlib import Path

import grpc
import harness
from google.protobuf import descriptor_pb2, message_factory



@functools.cache
def messages():
    """{full name: class} of everything in proto/."""
    folder = harness.ROOT / "proto"
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "descriptors"
        command = ["protoc-c", f"--proto_path={folder}", f"--descriptor_set_out={out}"]
        files = sorted(path.name for path in folder.glob("*.proto"))
        subprocess.run([*command, "--include_imports", *files], check=True, cwd=folder)
        described = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())
    return message_factory.GetMessages(described.file)


def make(name, **fields):
    return messages()[name](**fields)


class Channel:
    """Calls by path; the server's answers are read as messages of a name."""

    def __init__(self, port):
        # Otherwise grpcio shares a connection between channels, and so between tests.
        self.channel = grpc.insecure_channel(
            f"127.0.0.1:{port}", options=[("grpc.use_local_subchannel_pool", 1)]
        )

    def open(self, kind, path, request, response):
        return getattr(self.channel, kind)(
            path,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=messages()[response].FromString,
        ), messages()[request]

    def unary(self, path, request, response, metadata=(), /, **fields):
        call, message = self.open("unary_unary", path, request, response)
        return call(message(**fields), timeout=60, metadata=metadata)

    def server_stream(self, path, request, response, metadata=(), /, **fields):
        call, message = self.open("unary_stream", path, request, response)
        return call(message(**fields), timeout=60, metadata=metadata)

    def both_stream(self, path, request, response, frames, metadata=()):
        """frames: an iterable of the fields of one message each."""
        call, message = self.open("stream_stream", path, request, response)
        return call((message(**f) for f in frames), timeout=60, metadata=metadata)

    def close(self):
        self.channel.close()
