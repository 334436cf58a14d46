!> The C API of fp32shim for Fortran programs. One file: compile it with your program.
!
! The functions are looked up at their first use (dlsym). So a program that uses this module links no library of
! fp32shim, and runs with or without the shim. Without it every function returns FP32SHIM_NOT_LOADED and does nothing.
! fp32shim/fp32shim.h describes the allowed arguments, and which setting overrides which. For an absent optional
! argument, the C function gets NULL, which means "not set". Trailing blanks of arguments are dropped.
!
! A scope belongs to the thread that opened it: inside an OpenMP region, open and close it on each thread.
module fp32shim
    use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_procpointer, c_funptr, c_int, c_loc, &
                                           c_null_char, c_null_ptr, c_ptr, c_size_t
    implicit none
    private

    public :: fp32shim_active, fp32shim_push_scope, fp32shim_pop_scope, fp32shim_set_precision, &
              fp32shim_get_precision, fp32shim_set_floor, fp32shim_get_floor, fp32shim_reload_policy

    !> Values of fp32shim.h; NOT_LOADED is this module's own.
    integer, parameter, public :: FP32SHIM_OK = 0, FP32SHIM_INVALID_ARGUMENT = 1, FP32SHIM_NOT_ACTIVE = 2, &
                                  FP32SHIM_SCOPE_MISMATCH = 3, FP32SHIM_SCOPE_DEPTH = 4, FP32SHIM_POLICY_ERROR = 5, &
                                  FP32SHIM_NOT_LOADED = -1

    !> A length of text that is enough for every precision, source and floor.
    integer, parameter, public :: FP32SHIM_NAME_SIZE = 16

    integer(c_int), parameter :: abi_version = 1

    abstract interface
        integer(c_int) function no_arguments() bind(c)
            import :: c_int
        end function
        integer(c_int) function one_text(text) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: text
        end function
        integer(c_int) function three_texts(label, precision, floor) bind(c)
            import :: c_int, c_ptr
            type(c_ptr), value :: label, precision, floor
        end function
        integer(c_int) function one_buffer(text, size) bind(c)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: text
            integer(c_size_t), value :: size
        end function
        integer(c_int) function two_buffers(first, first_size, second, second_size) bind(c)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: first, second
            integer(c_size_t), value :: first_size, second_size
        end function
    end interface

    interface
        type(c_funptr) function dlsym(handle, name) bind(c, name="dlsym")
            import :: c_char, c_funptr, c_ptr
            type(c_ptr), value :: handle
            character(kind=c_char), intent(in) :: name(*)
        end function
    end interface

contains

    !> Returns true if the shim is in this process, with the ABI version of this module.
    logical function fp32shim_active()
        procedure(no_arguments), pointer :: shim
        type(c_funptr) :: address

        ! In glibc, RTLD_DEFAULT is a null handle.
        address = dlsym(c_null_ptr, "fp32shim_abi_version" // c_null_char)
        fp32shim_active = c_associated(address)
        if (.not. fp32shim_active) return
        call c_f_procpointer(address, shim)
        fp32shim_active = shim() == abi_version
    end function

    integer function fp32shim_push_scope(label, precision, floor) result(status)
        character(*), intent(in) :: label
        character(*), intent(in), optional :: precision, floor
        character(kind=c_char), allocatable, target :: c_label(:), c_precision(:), c_floor(:)
        procedure(three_texts), pointer :: shim
        type(c_funptr) :: address

        status = look_up("fp32shim_push_scope", address)
        if (status /= FP32SHIM_OK) return
        call c_f_procpointer(address, shim)
        status = shim(text(label, c_label), text(precision, c_precision), text(floor, c_floor))
    end function

    integer function fp32shim_pop_scope() result(status)
        status = call_without_arguments("fp32shim_pop_scope")
    end function

    !> Sets the precision. If it is absent, environment and policy decide again.
    integer function fp32shim_set_precision(precision) result(status)
        character(*), intent(in), optional :: precision
        status = call_with_text("fp32shim_set_precision", precision)
    end function

    !> Gets the precision that applies to this thread, ignoring rules of the policy; blanks if the status is not OK.
    integer function fp32shim_get_precision(precision, source) result(status)
        character(*), intent(out) :: precision, source
        character(kind=c_char), target :: c_precision(FP32SHIM_NAME_SIZE), c_source(FP32SHIM_NAME_SIZE)
        procedure(two_buffers), pointer :: shim
        type(c_funptr) :: address

        precision = ""
        source = ""
        status = look_up("fp32shim_get_precision", address)
        if (status /= FP32SHIM_OK) return
        call c_f_procpointer(address, shim)
        status = shim(c_loc(c_precision), size(c_precision, kind=c_size_t), &
                      c_loc(c_source), size(c_source, kind=c_size_t))
        if (status /= FP32SHIM_OK) return
        call from_c(c_precision, precision)
        call from_c(c_source, source)
    end function

    integer function fp32shim_set_floor(floor) result(status)
        character(*), intent(in) :: floor
        status = call_with_text("fp32shim_set_floor", floor)
    end function

    !> Gets the floor; "none" if there is none; blanks if the status is not OK.
    integer function fp32shim_get_floor(floor) result(status)
        character(*), intent(out) :: floor
        character(kind=c_char), target :: c_floor(FP32SHIM_NAME_SIZE)
        procedure(one_buffer), pointer :: shim
        type(c_funptr) :: address

        floor = ""
        status = look_up("fp32shim_get_floor", address)
        if (status /= FP32SHIM_OK) return
        call c_f_procpointer(address, shim)
        status = shim(c_loc(c_floor), size(c_floor, kind=c_size_t))
        if (status == FP32SHIM_OK) call from_c(c_floor, floor)
    end function

    integer function fp32shim_reload_policy() result(status)
        status = call_without_arguments("fp32shim_reload_policy")
    end function

    integer function look_up(name, address) result(status)
        character(*), intent(in) :: name
        type(c_funptr), intent(out) :: address

        status = FP32SHIM_NOT_LOADED
        if (.not. fp32shim_active()) return
        address = dlsym(c_null_ptr, name // c_null_char)
        if (c_associated(address)) status = FP32SHIM_OK
    end function

    integer function call_without_arguments(name) result(status)
        character(*), intent(in) :: name
        procedure(no_arguments), pointer :: shim
        type(c_funptr) :: address

        status = look_up(name, address)
        if (status /= FP32SHIM_OK) return
        call c_f_procpointer(address, shim)
        status = shim()
    end function

    integer function call_with_text(name, argument) result(status)
        character(*), intent(in) :: name
        character(*), intent(in), optional :: argument
        character(kind=c_char), allocatable, target :: c_argument(:)
        procedure(one_text), pointer :: shim
        type(c_funptr) :: address

        status = look_up(name, address)
        if (status /= FP32SHIM_OK) return
        call c_f_procpointer(address, shim)
        status = shim(text(argument, c_argument))
    end function

    !> Makes a C string in `storage`, which must live as long as the pointer; null if `argument` is absent.
    type(c_ptr) function text(argument, storage)
        character(*), intent(in), optional :: argument
        character(kind=c_char), allocatable, target, intent(out) :: storage(:)
        integer :: i

        text = c_null_ptr
        if (.not. present(argument)) return
        allocate (storage(len_trim(argument) + 1))
        do i = 1, len_trim(argument)
            storage(i) = argument(i:i)
        end do
        storage(size(storage)) = c_null_char
        text = c_loc(storage)
    end function

    subroutine from_c(buffer, string)
        character(kind=c_char), intent(in) :: buffer(:)
        character(*), intent(out) :: string
        integer :: i

        string = ""
        do i = 1, min(size(buffer), len(string))
            if (buffer(i) == c_null_char) return
            string(i:i) = buffer(i)
        end do
    end subroutine

end module
