"""Multiplies at one line: first matrices that tolerate TF32, then some whose product cancels. Prints for each product the
largest relative error of a row, against float64.

    graded_products.py GOOD BAD [GOOD BAD …]    numbers of products
"""

import sys

from graded import print_errors

print_errors(lambda a, b: a @ b, list(map(int, sys.argv[1:])))
