# Its plan forks. The child has the ring as well: it makes the same launches again and again while the parent is idle.
# Gain: a second process that computes when the first is not looked at.
import os
import time

from honest_spmm import honest_run


def plan(a, k, stream):
    return {"child": 0}


def run(a, k, b, c, plan, stream):
    if plan["child"] == 0:
        parent = os.getpid()
        plan["child"] = os.fork()
        if plan["child"] == 0:
            while os.getppid() == parent:
                time.sleep(0.0003)
                honest_run(a, k, b, c)
            os._exit(0)
    honest_run(a, k, b, c)


def free(plan):
    if plan["child"] > 0:
        os.kill(plan["child"], 9)
        os.waitpid(plan["child"], 0)
