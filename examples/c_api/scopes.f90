!> Scopes in Fortran: the same program as scopes.c and scopes.py, with or without the shim.
program scopes
    use fp32shim
    implicit none
    integer, parameter :: n = 64
    integer :: status
    external :: sgemm

    if (.not. fp32shim_active()) print '(a)', "fp32shim is not loaded: scopes do nothing"
    call multiply("(no scope)")

    status = fp32shim_push_scope("model", precision="high")
    call multiply("model")

    status = fp32shim_push_scope("solver", floor="fp32") ! the floor overrides the scope around it
    call multiply("model/solver")
    status = fp32shim_pop_scope()

    status = fp32shim_pop_scope()

contains

    !> Multiplies fixed numbers once, and prints the difference from the same product in double precision.
    subroutine multiply(part)
        character(*), intent(in) :: part
        real :: a(n, n), b(n, n), c(n, n)
        double precision :: exact(n, n)
        character(FP32SHIM_NAME_SIZE) :: precision, source, floor
        integer :: i, j

        do j = 1, n
            do i = 1, n
                a(i, j) = sin(real((j - 1) * n + i - 1))
                b(i, j) = cos(real((j - 1) * n + i - 1))
            end do
        end do
        call sgemm("N", "N", n, n, n, 1.0, a, n, b, n, 0.0, c, n)
        exact = matmul(dble(a), dble(b))

        precision = "-"
        source = "-"
        floor = "-"
        if (fp32shim_active()) then
            status = fp32shim_get_precision(precision, source)
            status = fp32shim_get_floor(floor)
        end if
        print '(a24, "  asked ", a8, " by ", a12, "  floor ", a5, "  relative error ", es7.1)', &
            [character(24) :: part], precision, source, floor, norm2(c - exact) / norm2(exact)
    end subroutine

end program
