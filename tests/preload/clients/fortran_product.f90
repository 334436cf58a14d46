! Multiplies real and complex matrices through the Fortran interface. Built twice: with default integers, and with
! -fdefault-integer-8 and a BLAS with 64-bit integers.
!
!   fortran_product [FORMAT]    rounds the operands to FORMAT (fp32, tf32) first
program fortran_product
  use, intrinsic :: iso_fortran_env, only: int32, real32
  implicit none
  integer, parameter :: m = 12, n = 20, k = 33
  real(real32) :: a(m, k), b(k, n), c(m, n)
  complex(real32) :: ca(m, k), cb(k, n), cc(m, n)
  character(len=8) :: format
  external :: sgemm, cgemm

  format = 'fp32'
  if (command_argument_count() > 0) call get_command_argument(1, format)
  call fill(a, 1)
  call fill(b, 2)
  call round_operands(a)
  call round_operands(b)
  ca = cmplx(a, -0.5_real32*a, real32)
  cb = cmplx(b, 0.25_real32*b, real32)
  c = 0.125_real32
  cc = (0.125_real32, -1.0_real32)

  call sgemm('N', 'N', m, n, k, 0.75_real32, a, m, b, k, 0.5_real32, c, m)
  print '(a, *(1x, z8.8))', 'sgemm', c
  call cgemm('N', 'N', m, n, k, (0.75_real32, 0.0_real32), ca, m, cb, k, (0.5_real32, 0.0_real32), cc, m)
  print '(a, *(1x, z8.8))', 'cgemm', real(cc), aimag(cc)

contains

  ! Fills with values in [-1, 1) of 20 bits, more than TF32 and BF16 keep.
  subroutine fill(x, seed)
    real(real32), intent(out) :: x(:, :)
    integer, intent(in) :: seed
    integer :: i, j, state
    state = seed
    do j = 1, size(x, 2)
      do i = 1, size(x, 1)
        state = modulo(state*1021 + 25673, 1048576)
        x(i, j) = real(state - 524288, real32)/524288.0_real32
      end do
    end do
  end subroutine fill

  elemental impure subroutine round_operands(x)
    real(real32), intent(inout) :: x
    integer(int32) :: bits
    if (format == 'fp32') return
    bits = transfer(x, bits)
    x = transfer(iand(bits + int(z'1000', int32), not(int(z'1fff', int32))), x)
  end subroutine round_operands
end program fortran_product
