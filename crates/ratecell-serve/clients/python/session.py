"""A session of redis-py, and of its asyncio client, with a server: `session.py HOST:PORT`, whose policy api is 5/1d."""

import asyncio
import sys

import redis
import redis.asyncio

WINDOW_MS = 86_400_000


def session(port: int, protocol: int) -> None:
    client = redis.Redis(port=port, protocol=protocol, client_name="session", decode_responses=True)
    assert client.ping() is True
    assert client.client_getname() == "session"
    key = f"python:{protocol}"
    assert client.execute_command("CL.THROTTLE", key, 15, 30, 60) == [0, 16, 15, -1, 2]
    with client.pipeline(transaction=False) as pipeline:
        for _ in range(20):
            pipeline.execute_command("RATECELL.CHECK", "api", key)
        outcomes = [outcome for outcome, *_ in pipeline.execute()]
    assert outcomes == [0] * 5 + [1] * 15, outcomes
    outcome, limit, remaining, retry_after, reset_after, delay = client.execute_command("RATECELL.PEEK", "api", key)
    assert (outcome, limit, remaining, retry_after, delay) == (0, 5, 0, 0, 0)
    assert 0 < reset_after <= WINDOW_MS
    assert client.execute_command("RATECELL.FORGET", "api", key) == 1
    *_, reservation = client.execute_command("RATECELL.RESERVE", "api", key, 4)
    assert client.execute_command("RATECELL.SETTLE", "api", reservation, 1)[2] == 4
    info = client.execute_command("RATECELL.INFO", "api")
    policy = info["policy"] if isinstance(info, dict) else dict(zip(info[::2], info[1::2]))["policy"]
    assert policy == "5/d", info
    assert client.info()["server_name"] == "ratecell"
    try:
        client.execute_command("CL.THROTTLE", key, "many", 1, 1)
    except redis.ResponseError as error:
        assert "expected an integer" in str(error), error
    else:
        raise AssertionError("a burst that is no number was taken")


async def many(port: int) -> None:
    pool = redis.asyncio.BlockingConnectionPool(port=port, protocol=3, max_connections=50)
    client = redis.asyncio.Redis.from_pool(pool)
    checks = [client.execute_command("RATECELL.CHECK", "api", "python:asyncio") for _ in range(200)]
    outcomes = [outcome for outcome, *_ in await asyncio.gather(*checks)]
    assert outcomes.count(0) == 5, outcomes
    await client.aclose()


def main() -> None:
    port = int(sys.argv[1].rpartition(":")[2])
    for protocol in 2, 3:
        session(port, protocol)
    asyncio.run(many(port))
    print(f"redis-py {redis.__version__}: passed")


main()
