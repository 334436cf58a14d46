! A Fortran program as users of MKL write it, with single products and batches. Knows nothing of the shim. Built with
! -fdefault-integer-8, it needs MKL's 64-bit interface. Prints like mkl_client.c. The argument `tf32` makes it round
! the operands of products first.
program mkl_client
    implicit none
    integer, parameter :: m = 7, n = 5, k = 6, ld = 8, batch = 3, groups = 2
    integer, parameter :: group_m(groups) = [7, 4], group_n(groups) = [5, 3], group_k(groups) = [6, 2]
    integer, parameter :: group_ld(groups) = ld, group_size(groups) = [2, 1]
    integer, parameter :: address = selected_int_kind(18)
    real, parameter :: alpha = 1.25, beta = 0.5
    complex, parameter :: complex_alpha = (1.25, 0.5), complex_beta = (0.5, -0.25)
    external :: sgemm, cgemm, ssyrk, cher2k, strmm, strsm, sgemm_batch, sgemm_batch_strided, cgemm_batch_strided
    real, target :: a(ld, ld, batch), b(ld, ld, batch), c(ld, ld, batch)
    complex, target :: ca(ld, ld, batch), cb(ld, ld, batch), cc(ld, ld, batch)
    integer(address) :: a_at(batch), b_at(batch), c_at(batch)
    character(len=8) :: argument
    logical :: round_operands
    integer :: i

    call get_command_argument(1, argument)
    round_operands = argument == 'tf32'

    call prepare(round_operands)
    call sgemm('N', 'T', m, n, k, alpha, a, ld, b, ld, beta, c, ld)
    call report('sgemm_')
    call prepare(round_operands)
    call cgemm('C', 'N', m, n, k, complex_alpha, ca, ld, cb, ld, complex_beta, cc, ld)
    call report('cgemm_')
    call prepare(round_operands)
    call ssyrk('U', 'N', n, k, alpha, a, ld, beta, c, ld)
    call report('ssyrk_')
    call prepare(round_operands)
    call cher2k('L', 'N', n, k, complex_alpha, ca, ld, cb, ld, beta, cc, ld)
    call report('cher2k_')
    call prepare(round_operands)
    if (round_operands) c(:m, :n, 1) = tf32(c(:m, :n, 1))
    call strmm('R', 'L', 'N', 'N', m, n, alpha, a, ld, c, ld)
    call report('strmm_')
    call prepare(.false.)
    call strsm('L', 'U', 'T', 'N', m, n, alpha, a, ld, c, ld)
    call report('strsm_')

    call prepare(round_operands)
    do i = 1, batch
        a_at(i) = loc(a(1, 1, i))
        b_at(i) = loc(b(1, 1, i))
        c_at(i) = loc(c(1, 1, i))
    end do
    call sgemm_batch(['N', 'T'], ['N', 'T'], group_m, group_n, group_k, [alpha, 0.75], a_at, group_ld, b_at, &
                     group_ld, [beta, -0.5], c_at, group_ld, groups, group_size)
    call report('sgemm_batch_')
    call prepare(round_operands)
    call sgemm_batch_strided('N', 'N', m, n, k, alpha, a, ld, ld * ld, b, ld, ld * ld, beta, c, ld, ld * ld, batch)
    call report('sgemm_batch_strided_')
    call prepare(round_operands)
    call cgemm_batch_strided('N', 'C', m, n, k, complex_alpha, ca, ld, ld * ld, cb, ld, ld * ld, complex_beta, cc, &
                             ld, ld * ld, batch)
    call report('cgemm_batch_strided_')

contains

    elemental real function tf32(value)
        real, intent(in) :: value
        tf32 = transfer(iand(transfer(value, 1_4) + int(z'1000', 4), not(int(z'1fff', 4))), 1.0)
    end function

    ! Makes values with more digits than TF32 keeps. Large diagonal elements keep the triangular solve well
    ! conditioned.
    subroutine prepare(rounded)
        logical, intent(in) :: rounded
        integer :: row, column, matrix
        do matrix = 1, batch
            do column = 1, ld
                do row = 1, ld
                    a(row, column, matrix) = sin(real(row + 10 * column + 100 * matrix))
                    b(row, column, matrix) = cos(real(3 * row + 7 * column + matrix))
                    c(row, column, matrix) = sin(real(5 * row + 2 * column - matrix))
                end do
                a(column, column, matrix) = a(column, column, matrix) + 4
            end do
        end do
        if (rounded) then
            a = tf32(a)
            b = tf32(b)
        end if
        ca = cmplx(a, b)
        cb = cmplx(b, -a)
        cc = cmplx(c, 2 * c)
    end subroutine

    subroutine report(name)
        character(len=*), intent(in) :: name
        write (*, '(a, *(1x, es16.9))') name, c, real(cc), aimag(cc)
    end subroutine
end program
