# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

import os

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Fp32shim(Package):
    """Sets the precision of float32 matrix products (BLAS and cuBLAS) in programs that cannot be
    changed, and records the precision that each product ran at."""

    homepage = "https://github.com/OWNER/fp32shim"
    # Made by packaging/packages.sh. The library is loaded into programs of any compiler, so it is
    # built once, for glibc 2.17 or newer.
    url = f"file://{os.getcwd()}/fp32shim-0.1.0-linux-x86_64.tar.gz"
    manual_download = True

    license("Apache-2.0")

    # There is no release yet: add the sha256 of your file, or use `spack install --no-checksum`.
    version("0.1.0")

    requires("platform=linux")
    requires("target=x86_64:", "target=aarch64:", policy="one_of")

    sanity_check_is_file = ["bin/fp32shim", "lib/libfp32shim.so"]

    def url_for_version(self, version):
        machine = self.spec.target.family
        return f"file://{os.getcwd()}/fp32shim-{version}-linux-{machine}.tar.gz"

    def install(self, spec, prefix):
        install_tree(".", prefix)
