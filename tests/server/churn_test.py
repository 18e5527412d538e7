#!/usr/bin/env python3
"""Tests clients that disconnect at any moment (F1): the server frees all their resources, and the
tokens of other clients do not change."""
import random
import threading

import server
from server import CHAT, TEXT, Wire, post

KILLS = 60 if server.ingot.SANITIZERS else 200
THREADS = 8
CONTROL = {"prompt": "Tell me something", "max_tokens": 60, "ignore_eos": True, "temperature": 1,
           "seed": 5, "logprobs": 1}


def request(draw):
    """A request whose end is not read: streams and whole ones, with several choices or not."""
    body = {"max_tokens": draw.choice((5, 100, 900)), "ignore_eos": True,
            "stream": draw.random() < 0.7, "n": draw.choice((1, 1, 4))}
    if draw.random() < 0.5:
        words = "shared prefix of many " * draw.choice((1, 8)) + str(draw.randrange(4))
        path, body["messages"] = CHAT, [{"role": "user", "content": words}]
    else:
        path, body["prompt"] = TEXT, [draw.randrange(1000) for _ in range(draw.randrange(1, 90))]
    return post(path, body, [("Connection", "close")])


class Churn(server.ServerTest):
    args = ("--sequences", "8", "--kv-tokens", "8192")

    def kill_some(self, seed, count, wrong):
        try:
            self.kill_each(random.Random(seed), count)
        except Exception as error:  # a thread's own would be lost
            wrong.append(error)

    def kill_each(self, draw, count):
        for _ in range(count):
            data = request(draw)
            wire = Wire(self.server)
            at = draw.random()
            if at < 0.2:
                wire.send(data[:draw.randrange(len(data))])
            else:
                wire.send(data)
                try:
                    if at > 0.4:
                        wire.exactly(draw.choice((1, 400, 3000)))
                except server.Closed:
                    pass
            leave = draw.choice((wire.socket.close, wire.reset, wire.end_writing))
            try:
                leave()
            except OSError:  # the server closed it first
                pass
            wire.socket.close()

    def listen(self, expected, wrong, stop):
        while not stop.is_set():
            said = self.server.post(TEXT, CONTROL).json()["choices"]
            if said != expected:
                wrong.append(said)

    def test_f1_clients_that_leave(self):
        expected = self.server.post(TEXT, CONTROL).json()["choices"]
        wrong, stop = [], threading.Event()
        listeners = [threading.Thread(target=self.listen, args=(expected, wrong, stop))
                     for _ in range(2)]
        killers = [threading.Thread(target=self.kill_some, args=(i, KILLS // THREADS, wrong))
                   for i in range(THREADS)]
        for thread in (*listeners, *killers):
            thread.start()
        for thread in killers:
            thread.join()
        stop.set()
        for thread in listeners:
            thread.join()
        self.assertEqual(wrong, [])
        self.assert_quiet()


if __name__ == "__main__":
    server.main()
