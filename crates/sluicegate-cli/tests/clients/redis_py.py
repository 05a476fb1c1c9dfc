"""A script for redis-py: the commands of its connection set-up, and throttling commands."""

import sys

import redis

port = int(sys.argv[1])

for protocol in (2, 3):
    client = redis.Redis(port=port, protocol=protocol, decode_responses=True, client_name="tests")
    assert client.ping() is True
    assert client.client_getname() == "tests"
    assert client.echo("hello") == "hello"
    assert client.info()["role"] == "master"
    key = f"redis-py:{protocol}"
    assert client.execute_command("CL.THROTTLE", key, 15, 30, 60) == [0, 16, 15, -1, 2]

    pipeline = client.pipeline(transaction=False)
    for _ in range(100):
        pipeline.execute_command("CL.THROTTLE", key, 15, 30, 60)
    limited = [answer[0] for answer in pipeline.execute()]
    assert sum(limited) >= 80 and limited[:15] == [0] * 15, limited

    checked = client.execute_command("SLUICEGATE.CHECK", "ip", "203.0.113.9", "path", "/", "COST", 0)
    if protocol == 2:
        checked = dict(zip(checked[::2], checked[1::2]))
    assert checked["allowed"] == 1 and checked["by"] == "store", checked

    try:
        client.get("k")
        raise AssertionError("there is no GET")
    except redis.ResponseError as error:
        assert "unknown command 'GET'" in str(error), error
    client.close()

print("ok")
