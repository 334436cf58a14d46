from cvxopt import blas, lapack, matrix, normal, setseed, solvers, uniform
setseed(1)
solvers.options["show_progress"] = False
a, q, g, h = normal(60, 20), normal(20, 1), normal(40, 20), uniform(40, 1) + 1
box = matrix([[1. * (i == j) for i in range(20)] + [-1. * (i == j) for i in range(20)] for j in range(20)])
for found in (solvers.qp(a.T * a, q, g, h), solvers.lp(q, box, matrix(1., (40, 1)))):
    print(found["status"], *("%.17g" % each for each in found["x"] or ()))
